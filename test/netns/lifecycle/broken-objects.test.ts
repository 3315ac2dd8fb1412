import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { TestObject } from './api-server-process.ts';
import { brokenCases } from './broken-objects.ts';
import { type Mode, NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { shop, WEB } from './shop.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());

describe.each<[Mode, 'API server' | 'files']>([
  ['nftables', 'API server'],
  ['nftables', 'files'],
  ['iptables', 'API server'],
  ['iptables', 'files'],
])('%s, objects from %s', (mode, source) => {
  let proxy: ProxyProcess;
  const manifests = mkdtempSync(join(tmpdir(), 'fairlead-broken-'));

  beforeAll(async () => {
    await bed.reset();
    const objects = [...shop(), ...Object.values(brokenCases).flatMap((each) => each.objects)];
    await put(objects);
    proxy = bed.start(mode, source === 'files' ? { manifests } : {});
    await bed.synced(proxy);
    await bed.answersSoon(proxy, `${WEB}:80`);
  });
  afterAll(() => rmSync(manifests, { recursive: true }));

  test.each(Object.entries(brokenCases))('%s', async (_, { answers = {}, silent = [], ...log }) => {
    const manifest = source === 'files' ? log.manifest : undefined;
    const isServiceRefused = manifest?.object.startsWith('Service ') === true;
    for (const [to, servers] of Object.entries(isServiceRefused ? {} : answers)) {
      const outcomes = await bed.testbed.probe({ from: 'client', to, count: 30 });
      const seen = new Set(outcomes.map((each) => ('server' in each ? each.server : JSON.stringify(each))));
      expect([...seen].sort(), to).toEqual([...servers].sort());
    }
    for (const to of silent) expect(await bed.answers(to), to).toBe(false);
    const [object, reason] =
      manifest === undefined ? [log.named?.object, log.named?.reason] : [manifest.object, manifest.problem];
    if (object === undefined || reason === undefined) return;
    const lines = proxy.lines(new RegExp(`^W.*"${object}"`));
    expect(
      lines.filter((line) => reason.test(line)),
      proxy.log,
    ).toHaveLength(1);
  });

  test('the others work, later changes too, and no sync has failed', async () => {
    await put([service('late', '10.96.1.99'), slice('late', ['10.244.1.3'])]);
    await bed.answersSoon(proxy, '10.96.1.99:80');
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect(proxy.lines(/^E/)).toEqual([]);
    const healthy = /"default\/(web|sticky|dns|late)/;
    expect(proxy.lines(/^W/).filter((line) => healthy.test(line))).toEqual([]);
  });

  async function put(objects: readonly TestObject[]): Promise<void> {
    if (source === 'API server') return bed.api.apply(...objects);
    for (const object of objects) {
      const { namespace = '', name } = object.metadata;
      const file = `${object.kind}.${namespace.slice(-3)}.${name.slice(-30)}.yaml`;
      writeFileSync(join(manifests, file), stringify(object));
    }
  }
});
