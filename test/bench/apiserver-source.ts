/**
 * How long the API server source takes to deliver a large cluster, and what it holds afterwards. Starts the stand-in
 * API server as a process of its own. Run with `node test/bench/apiserver-source.ts [--json] [--lists] [--tls]`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';

const directory = mkdtempSync(join(tmpdir(), 'bench-source-'));
const kubeconfig = join(directory, 'kubeconfig');
const has = (flag: string) => process.argv.includes(flag);
const server = spawn(
  process.execPath,
  [
    join(import.meta.dirname, '../cluster/main.ts'),
    '--generate',
    'services=10000,endpoints=10,local=1,managedFields=true',
    '--kubeconfig',
    kubeconfig,
    ...(has('--tls') ? ['--tls'] : []),
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
await once(server.stdout, 'data');

const rss = () => (process.memoryUsage.rss() / 1e6).toFixed(0);
const before = rss();
const importStart = performance.now();
const { ApiServerSource } = await import('../../src/source/apiserver/apiserver-source.ts');
const imported = performance.now() - importStart;
const importedRss = rss();

const counts = new Map<string, number>();
let synced = 0;
const kept: unknown[] = [];
const controller = new AbortController();
const sink = (kind: string) => ({
  set(object: unknown) {
    kept.push(object);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  },
  delete() {},
  synced() {
    marks.push(`${kind} ${(performance.now() - start).toFixed(0)} ms`);
    if (++synced === 4) controller.abort();
  },
});
const marks: string[] = [];
const source = new ApiServerSource(
  {
    kubeconfig,
    master: '',
    acceptContentTypes: '',
    contentType: has('--json') ? 'application/json' : 'application/vnd.kubernetes.protobuf',
    qps: 5,
    burst: 10,
    nodeName: 'node1',
    hostName: 'host',
    version: '0',
    reflector: { useWatchList: !has('--lists') },
  },
  {
    services: sink('services'),
    endpointSlices: sink('endpointslices'),
    nodes: sink('nodes'),
    serviceCIDRs: sink('servicecidrs'),
  },
  { clock: systemClock, logger: silentLogger, env: process.env },
);
const cpu = process.cpuUsage();
const start = performance.now();
await source.start(controller.signal);
const used = process.cpuUsage(cpu);
console.log(`import ${imported.toFixed(0)} ms, RSS ${before} to ${importedRss} MB`);
console.log(`synced: ${marks.join(', ')}; objects ${JSON.stringify(Object.fromEntries(counts))}`);
console.log(`CPU ${((used.user + used.system) / 1000).toFixed(0)} ms, RSS ${rss()} MB, kept ${kept.length}`);
const m = process.memoryUsage();
console.log(
  Object.entries(m)
    .map(([k, v]) => `${k} ${(v / 1e6).toFixed(1)}`)
    .join(' '),
);
server.kill();
rmSync(directory, { recursive: true });
