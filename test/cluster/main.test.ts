import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchBytes } from './testing/fetch-bytes.ts';

const main = join(import.meta.dirname, 'main.ts');
let folder: string;
const children: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stand-in-main-'));
});
afterAll(() => {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(...args: string[]): Promise<{ url: string; control: string; resourceVersion: number }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let text = '';
  for await (const chunk of child.stdout!) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  return JSON.parse(text);
}

describe('as a process', () => {
  test('serves a folder of manifests over TLS to the user of its kubeconfig', async () => {
    writeFileSync(
      join(folder, 'web.yaml'),
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 10.96.0.9}\n---\nkind: Node\nmetadata: {name: n}\n',
    );
    const file = join(folder, 'kubeconfig');
    const { url } = await start('--objects', folder, '--tls', '--token', 'secret', '--kubeconfig', file);
    const config = JSON.parse(readFileSync(file, 'utf8'));
    expect(config.clusters[0].cluster.server).toBe(url);
    const ca = Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64').toString();
    const { token } = config.users[0].user;
    const answer = await fetchBytes(`${url}/api/v1/services`, { ca, token });
    expect(JSON.parse(answer.body.toString()).items[0].metadata).toMatchObject({
      name: 'web',
      namespace: 'default',
    });
    expect((await fetchBytes(`${url}/api/v1/services`, { ca })).status).toBe(401);
  });

  test('is steered through the control port', async () => {
    const { url, control } = await start('--generate', 'services=3,endpoints=2');
    const post = async (path: string, body: unknown, method = 'POST') => {
      const response = await fetch(control + path, { method, body: JSON.stringify(body) });
      const answer = (await response.json()) as { applied?: number; deleted?: number; error?: string };
      return { status: response.status, body: answer };
    };
    const services = () => fetchBytes(`${url}/api/v1/services`);
    const count = async () => JSON.parse((await services()).body.toString()).items.length;
    expect(await count()).toBe(3);
    const service = { kind: 'Service', metadata: { name: 'extra' }, spec: {} };
    expect((await post('/apply', [service])).body.applied).toBe(1);
    expect(await count()).toBe(4);
    expect((await post('/delete', { kind: 'Service', name: 'extra' })).body.deleted).toBe(1);
    expect(await count()).toBe(3);
    await post('/faults', { on: { verb: 'list' }, times: 0, action: { kind: 'status', code: 503 } });
    expect((await services()).status).toBe(503);
    await post('/faults', undefined, 'DELETE');
    await post('/settings', { tokens: ['t'] });
    expect((await services()).status).toBe(401);
    await post('/settings', { tokens: null });
    expect((await services()).status).toBe(200);
    await post('/listener/stop', {});
    await expect(services()).rejects.toThrow();
    await post('/listener/start', {});
    expect(await count()).toBe(3);
    expect((await post('/no-such', {})).status).toBe(400);
    expect((await post('/apply', { kind: 'Pod', metadata: { name: 'x' } })).body.error).toMatch(
      /does not serve kind Pod/,
    );
    const requests = (await (await fetch(`${control}/requests`)).json()) as object[];
    expect(requests.at(-1)).toMatchObject({ verb: 'list', resource: 'services', status: 200 });
  });
});
