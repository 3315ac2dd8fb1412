import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { Logger, LogValues } from '../../base/logger.ts';
import type { ClusterSinks } from '../../kube/cluster-sinks.ts';
import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { Node } from '../../kube/node.ts';
import type { ObjectSink } from '../../kube/object-sink.ts';
import type { Service } from '../../kube/service.ts';
import type { ServiceCIDR } from '../../kube/service-cidr.ts';
import { FilesSource, type FilesSourceOptions } from './files-source.ts';

/** Keeps what a source delivered, and every call in order. */
class RecordingSink<T extends { readonly name: string; readonly namespace?: string }>
  implements ObjectSink<T>
{
  readonly objects = new Map<string, T>();
  readonly calls: string[] = [];

  set(object: T): void {
    const key = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    this.objects.set(key, object);
    this.calls.push(`set ${key}`);
  }

  delete(namespace: string, name: string): void {
    const key = namespace === '' ? name : `${namespace}/${name}`;
    this.objects.delete(key);
    this.calls.push(`delete ${key}`);
  }

  synced(): void {
    this.calls.push('synced');
  }
}

let folder: string;
let stop: AbortController;
let running: Promise<void> | undefined;
let lines: string[];
let sinks: {
  services: RecordingSink<Service>;
  endpointSlices: RecordingSink<EndpointSlice>;
  nodes: RecordingSink<Node>;
  serviceCIDRs: RecordingSink<ServiceCIDR>;
};

const logger: Logger = {
  info: () => {},
  verbose: (level, message, values) => lines.push(print(`v${level}`, message, values)),
  warn: (message, values) => lines.push(print('warn', message, values)),
  error: (message, _error, values) => lines.push(print('error', message, values)),
  enabled: (level) => level <= 2,
  with: () => logger,
};

function print(level: string, message: string, values: LogValues = {}): string {
  const pairs = Object.entries(values).map(([key, value]) => `${key}=${value}`);
  return [`${level}: ${message}`, ...pairs].join(' ');
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  stop = new AbortController();
  lines = [];
  sinks = {
    services: new RecordingSink(),
    endpointSlices: new RecordingSink(),
    nodes: new RecordingSink(),
    serviceCIDRs: new RecordingSink(),
  };
});

afterEach(async () => {
  stop.abort();
  await running;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a source on the folder and waits for the initial objects. */
async function start(options: Partial<FilesSourceOptions> = {}): Promise<FilesSource> {
  const all: FilesSourceOptions = { directory: folder, nodeName: 'node1', ...options };
  const source = new FilesSource(all, { sinks: sinks satisfies ClusterSinks, logger, clock: systemClock });
  running = source.start(stop.signal);
  await expect.poll(() => sinks.serviceCIDRs.calls.includes('synced'), { interval: 2 }).toBe(true);
  return source;
}

const path = (name: string) => join(folder, name);
const write = (name: string, text: string) => writeFileSync(path(name), text);
const service = (name: string, ip: string, more = '') =>
  `apiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  clusterIP: ${ip}\n  ports:\n  - port: 80\n${more}`;
const served = () =>
  Object.fromEntries(
    [...sinks.services.objects].map(([key, { clusterIP }]) => [key.replace('default/', ''), clusterIP]),
  );
const soon = { timeout: 1000, interval: 2 };
const settled = () => sleep(80);

describe('at the start', () => {
  test('reads yaml, yml and json, several documents, lists; then all kinds are synced', async () => {
    write('a.yaml', `${service('a', '10.96.0.1')}---\n# only a comment\n---\n${service('b', '10.96.0.2')}`);
    write(
      'b.yml',
      'kind: ServiceCIDR\napiVersion: networking.k8s.io/v1\nmetadata: {name: kubernetes}\nspec: {cidrs: [10.96.0.0/12]}\n',
    );
    write(
      'c.json',
      JSON.stringify({
        kind: 'List',
        apiVersion: 'v1',
        items: [
          {
            kind: 'Service',
            apiVersion: 'v1',
            metadata: { name: 'c', namespace: 'other' },
            spec: { clusterIP: '10.96.0.3' },
          },
          { kind: 'Node', apiVersion: 'v1', metadata: { name: 'node1' } },
          { kind: 'Node', apiVersion: 'v1', metadata: { name: 'node2' } },
        ],
      }),
    );
    const slice = {
      metadata: { name: 's', labels: { 'kubernetes.io/service-name': 'a' } },
      addressType: 'IPv4',
    };
    write(
      'd.json',
      JSON.stringify({ kind: 'EndpointSliceList', apiVersion: 'discovery.k8s.io/v1', items: [slice] }),
    );
    write('.hidden.yaml', service('hidden', '10.96.0.9'));
    write('e.yaml~', service('backup', '10.96.0.9'));
    mkdirSync(path('sub.yaml'));
    writeFileSync(path('sub.yaml/f.yaml'), service('below', '10.96.0.9'));
    await start();
    expect(served()).toEqual({ a: '10.96.0.1', b: '10.96.0.2', 'other/c': '10.96.0.3' });
    expect([...sinks.nodes.objects.keys()]).toEqual(['node1']);
    expect(sinks.serviceCIDRs.objects.get('kubernetes')!.cidrs).toEqual(['10.96.0.0/12']);
    expect(sinks.endpointSlices.objects.get('default/s')!.serviceName).toBe('a');
    for (const sink of Object.values(sinks))
      expect(sink.calls.filter((call) => call === 'synced')).toHaveLength(1);
    expect(sinks.services.calls.at(-1)).toBe('synced');
    expect(lines).toEqual([]);
  });

  test('an empty directory is synced; a missing one is waited for', async () => {
    const directory = path('later');
    const started = start({ directory, pollMilliseconds: 20 });
    await expect.poll(() => lines.length, soon).toBe(1);
    await sleep(60);
    expect(lines).toEqual([expect.stringContaining('Cannot read the manifest directory')]);
    expect(sinks.services.calls).toEqual([]);
    mkdirSync(directory);
    await started;
    expect(sinks.services.calls).toEqual(['synced']);
    writeFileSync(join(directory, 'a.yaml'), service('a', '10.96.0.1'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.1' });
  });

  test('selectors work on the labels as written', async () => {
    const labels = (label: string) => `  labels:\n    ${label}: ""\n`;
    const labelled = (name: string, label: string) =>
      service(name, '10.96.0.1').replace('spec:', `${labels(label)}spec:`);
    write('a.yaml', labelled('other-proxy', 'service.kubernetes.io/service-proxy-name'));
    write('b.yaml', service('headless', 'None'));
    write('c.yaml', labelled('mine', 'service.kubernetes.io/headless'));
    const slice = (name: string, label: string) =>
      `kind: EndpointSlice\naddressType: IPv4\nmetadata:\n  name: ${name}\n${labels(label)}`;
    write('d.yaml', `${slice('of-headless', 'service.kubernetes.io/headless')}---\n${slice('usual', 'x')}`);
    await start();
    expect(served()).toEqual({ mine: '10.96.0.1' });
    expect([...sinks.endpointSlices.objects.keys()]).toEqual(['default/usual']);
    write('a.yaml', service('other-proxy', '10.96.0.1'));
    await expect.poll(served, soon).toEqual({ mine: '10.96.0.1', 'other-proxy': '10.96.0.1' });
    write('a.yaml', labelled('other-proxy', 'service.kubernetes.io/service-proxy-name'));
    await expect.poll(served, soon).toEqual({ mine: '10.96.0.1' });
  });
});

describe('changes', () => {
  test('new, changed and deleted files; a comment is no change', async () => {
    write('a.yaml', service('a', '10.96.0.1'));
    const source = await start();
    write('b.yaml', service('b', '10.96.0.2'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.1', b: '10.96.0.2' });
    const { resourceVersion } = sinks.services.objects.get('default/a')!;
    write('a.yaml', service('a', '10.96.0.5'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.5', b: '10.96.0.2' });
    expect(sinks.services.objects.get('default/a')!.resourceVersion).not.toBe(resourceVersion);
    unlinkSync(path('b.yaml'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.5' });
    const calls = sinks.services.calls.length;
    write('a.yaml', `# a comment\n${service('a', '10.96.0.5')}`);
    await settled();
    expect(sinks.services.calls.length).toBe(calls);
    expect(source.lastContact()).toBeGreaterThan(0);
  });

  test('the first change of a quiet directory arrives at once, not after the settle time', async () => {
    write('a.yaml', service('a', '10.96.0.1'));
    await start({ settleMilliseconds: 3000 });
    write('a.yaml', service('a', '10.96.0.2'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.2' });
    write('a.yaml', service('b', '10.96.0.2'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.2', b: '10.96.0.2' });
  });

  test('replaced by rename, and removed before being written again: never gone in between', async () => {
    write('a.yaml', service('a', '10.96.0.1'));
    await start();
    write('.a.yaml.tmp', service('a', '10.96.0.2'));
    renameSync(path('.a.yaml.tmp'), path('a.yaml'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.2' });
    renameSync(path('a.yaml'), path('a.yaml~'));
    await sleep(5);
    write('a.yaml', service('a', '10.96.0.3'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.3' });
    await settled();
    truncateSync(path('a.yaml'));
    await sleep(5);
    write('a.yaml', service('a', '10.96.0.4'));
    await settled();
    expect(served()).toEqual({ a: '10.96.0.4' });
    expect(sinks.services.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
  });

  test('a file written in pieces takes nothing away and shows no half object', async () => {
    const whole = `${service('a', '10.96.0.1')}---\n${service('b', '10.96.0.20', '    nodePort: 30080\n  type: NodePort\n')}`;
    write('a.yaml', whole);
    await start();
    const ips = new Set<string>();
    const watched = setInterval(() => ips.add(JSON.stringify(served())), 1);
    truncateSync(path('a.yaml'));
    for (let at = 0; at < whole.length; at += 37) {
      appendFileSync(path('a.yaml'), whole.slice(at, at + 37));
      await sleep(3);
    }
    await settled();
    clearInterval(watched);
    expect([...ips]).toEqual([JSON.stringify({ a: '10.96.0.1', b: '10.96.0.20' })]);
    expect(sinks.services.objects.get('default/b')!.type).toBe('NodePort');
    expect(sinks.services.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
    expect(lines).toEqual([]);
  });

  test('a mounted ConfigMap: the link ..data is swapped', async () => {
    const publish = (version: string, files: Record<string, string>) => {
      mkdirSync(path(version));
      for (const [name, text] of Object.entries(files)) writeFileSync(join(path(version), name), text);
      symlinkSync(version, path('..data_tmp'));
      renameSync(path('..data_tmp'), path('..data'));
    };
    publish('..v1', { 'a.yaml': service('a', '10.96.0.1'), 'b.yaml': service('b', '10.96.0.2') });
    symlinkSync('..data/a.yaml', path('a.yaml'));
    symlinkSync('..data/b.yaml', path('b.yaml'));
    await start();
    expect(served()).toEqual({ a: '10.96.0.1', b: '10.96.0.2' });
    // As kubelet does: the new data, the swap, then the links of files that are gone.
    publish('..v2', { 'a.yaml': service('a', '10.96.0.3') });
    unlinkSync(path('b.yaml'));
    rmSync(path('..v1'), { recursive: true });
    await expect.poll(served, soon).toEqual({ a: '10.96.0.3' });
    expect(sinks.services.calls).not.toContain('delete default/a');
  });

  test('a change that the kernel does not report is found by the poll', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
    try {
      writeFileSync(join(elsewhere, 'x.yaml'), service('a', '10.96.0.1'));
      symlinkSync(join(elsewhere, 'x.yaml'), path('a.yaml'));
      await start({ pollMilliseconds: 50 });
      writeFileSync(join(elsewhere, 'x.yaml'), service('a', '10.96.0.2'));
      await expect.poll(served, soon).toEqual({ a: '10.96.0.2' });
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test('a directory that is replaced is followed; one that is away leaves everything in force', async () => {
    const directory = path('d');
    mkdirSync(directory);
    writeFileSync(join(directory, 'a.yaml'), service('a', '10.96.0.1'));
    await start({ directory, pollMilliseconds: 30 });
    renameSync(directory, path('old'));
    await sleep(100);
    expect(served()).toEqual({ a: '10.96.0.1' });
    expect(lines).toEqual([expect.stringContaining('Cannot read the manifest directory')]);
    mkdirSync(path('new'));
    writeFileSync(join(path('new'), 'b.yaml'), service('b', '10.96.0.2'));
    renameSync(path('new'), directory);
    await expect.poll(served, soon).toEqual({ b: '10.96.0.2' });
    writeFileSync(join(directory, 'b.yaml'), service('b', '10.96.0.3'));
    await expect.poll(served, soon).toEqual({ b: '10.96.0.3' });
  });

  test('after the stop nothing is delivered', async () => {
    await start();
    stop.abort();
    await running;
    write('a.yaml', service('a', '10.96.0.1'));
    await settled();
    expect(sinks.services.calls).toEqual(['synced']);
  });
});

describe('bad files', () => {
  test('a file that does not parse: one line with its line number, the last good version stays, the others change', async () => {
    write('a.yaml', `${service('a', '10.96.0.1')}---\n${service('b', '10.96.0.2')}`);
    write('z.yaml', service('z', '10.96.0.9'));
    await start();
    // The first document is fine and new, the second is broken: nothing of the file counts.
    write('a.yaml', `${service('new', '10.96.0.3')}---\nkind: Service\nmetadata: {name: b\nspec: {}\n`);
    write('z.yaml', service('z', '10.96.0.10'));
    await expect.poll(() => lines.length, soon).toBe(1);
    await settled();
    expect(lines).toEqual([
      expect.stringMatching(/^warn: Manifest file cannot be parsed.* manifest=a\.yaml:1[123] problem=/),
    ]);
    expect(served()).toEqual({ a: '10.96.0.1', b: '10.96.0.2', z: '10.96.0.10' });
    write('a.yaml', service('a', '10.96.0.4'));
    await expect.poll(served, soon).toEqual({ a: '10.96.0.4', z: '10.96.0.10' });
    expect(lines).toHaveLength(1);
  });

  test('broken from the start: nothing of it, all of the others', async () => {
    write('a.yaml', 'a: [\n');
    write('b.json', '{"kind": "Service",\n "metadata": {"name": "x",,}}\n');
    write('c.yaml', service('c', '10.96.0.1'));
    await start();
    expect(served()).toEqual({ c: '10.96.0.1' });
    expect(lines).toEqual([
      expect.stringMatching(/manifest=a\.yaml:[12] /),
      expect.stringMatching(/manifest=b\.json:2 /),
    ]);
  });

  test('an object that cannot be used: file, line and field; its last good version stays, its neighbours count', async () => {
    const good = `${service('a', '10.96.0.1')}---\n${service('b', '10.96.0.2')}`;
    write('a.yaml', good);
    await start();
    write(
      'a.yaml',
      good.replace('  ports:\n  - port: 80\n---', '  ports: x\n---').replace('10.96.0.2', '10.96.0.7'),
    );
    await expect.poll(served, soon).toEqual({ a: '10.96.0.1', b: '10.96.0.7' });
    await settled();
    expect(lines).toEqual([
      'warn: Manifest object cannot be used, its last good version stays in force manifest=a.yaml:7 object=Service default/a problem=spec.ports: expected array',
    ]);
    unlinkSync(path('a.yaml'));
    await expect.poll(served, soon).toEqual({});
  });

  test.each([
    ['without a name', 'kind: Service\nmetadata: {}\nspec: {}\n', 'a.yaml:2', 'metadata.name: is required'],
    ['without a kind', 'metadata: {name: x}\n', 'a.yaml:1', 'has no kind'],
    ['no object', '- 1\n- 2\n', 'a.yaml:1', 'is no object'],
    [
      'wrong type deep down',
      service('x', '10.96.0.1', '  - port: eighty\n'),
      'a.yaml:9',
      'spec.ports[1].port: expected integer',
    ],
    [
      'an old API version',
      'kind: EndpointSlice\napiVersion: discovery.k8s.io/v1beta1\nmetadata: {name: x}\n',
      'a.yaml:2',
      'apiVersion: must be discovery.k8s.io/v1',
    ],
    [
      'no address type',
      'kind: EndpointSlice\nmetadata: {name: x}\n',
      'a.yaml:1',
      'addressType: must be IPv4, IPv6 or FQDN',
    ],
    [
      'a port out of range',
      service('x', '10.96.0.1').replace('80', '80000'),
      'a.yaml:8',
      'spec.ports[0].port: must be from 1 to 65535',
    ],
    ['no address', service('x', 'somewhere'), 'a.yaml:6', 'spec.clusterIPs[0]: must be an IP address'],
    [
      'in a list',
      JSON.stringify({ kind: 'List', items: [{ kind: 'Service', metadata: { name: 1 } }] }, null, 1),
      'a.yaml:7',
      'items[0].metadata.name: expected string',
    ],
  ])('%s', async (_what, text, at, problem) => {
    write('a.yaml', text);
    await start();
    expect(sinks.services.calls).toEqual(['synced']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`manifest=${at} `);
    expect(lines[0]!.endsWith(`problem=${problem}`)).toBe(true);
  });

  test('kinds that are not read: one quiet line a file', async () => {
    write(
      'a.yaml',
      `kind: Pod\nmetadata: {name: x}\n---\nkind: Deployment\napiVersion: apps/v1\n---\nkind: Service\napiVersion: serving.knative.dev/v1\nmetadata: {name: k}\n---\n${service('a', '10.96.0.1')}`,
    );
    await start();
    expect(served()).toEqual({ a: '10.96.0.1' });
    expect(lines).toEqual([
      'v2: Manifest file has kinds that a Service proxy does not read manifest=a.yaml kinds=Pod,Deployment,Service',
    ]);
  });

  test('a Service without clusterIP is delivered and named', async () => {
    write('a.yaml', 'kind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n');
    write(
      'b.yaml',
      'kind: Service\nmetadata: {name: b}\nspec: {type: ExternalName, externalName: x.example}\n',
    );
    await start();
    expect(served()).toEqual({ a: '', b: '' });
    expect(lines).toEqual([
      expect.stringMatching(
        /^warn: Service has no clusterIP .* object=Service default\/a manifest=a\.yaml:1$/,
      ),
    ]);
  });
});

describe('the same object twice', () => {
  test('the first file by name is followed, the other takes over when it goes', async () => {
    write('b.yaml', service('web', '10.96.0.2'));
    await start();
    write('a.yaml', `${service('x', '10.96.0.8')}---\n${service('web', '10.96.0.1')}`);
    await expect.poll(served, soon).toEqual({ web: '10.96.0.1', x: '10.96.0.8' });
    await settled();
    const line =
      'warn: Object is in two manifest files, the first file by name is followed object=Service default/web followed=a.yaml:10 ignored=b.yaml:1';
    expect(lines).toEqual([line]);
    write('b.yaml', service('web', '10.96.0.3'));
    await settled();
    expect(served()).toMatchObject({ web: '10.96.0.1' });
    expect(lines).toEqual([line]);
    unlinkSync(path('a.yaml'));
    await expect.poll(served, soon).toEqual({ web: '10.96.0.3' });
    expect(sinks.services.calls).not.toContain('delete default/web');
  });

  test('twice in one file: the first one is followed', async () => {
    write('a.yaml', `${service('web', '10.96.0.1')}---\n${service('web', '10.96.0.2')}`);
    await start();
    expect(served()).toEqual({ web: '10.96.0.1' });
    expect(lines).toEqual([
      'warn: Object is twice in a manifest file, the first one is followed manifest=a.yaml:10 object=Service default/web followed=a.yaml:1',
    ]);
  });

  test('an object that moves to another file is never deleted, and no conflict is logged', async () => {
    write('a.yaml', service('web', '10.96.0.1'));
    await start();
    write('b.yaml', service('web', '10.96.0.1'));
    unlinkSync(path('a.yaml'));
    await settled();
    expect(served()).toEqual({ web: '10.96.0.1' });
    expect(sinks.services.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
    expect(lines).toEqual([]);
  });
});
