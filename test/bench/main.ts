import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchNamespace } from './bench-namespace.ts';
import { writeUpstreamRuleset } from './upstream-ruleset.ts';

/**
 * `make bench`: measures the mode in MODE and prints a table. All kernel work is done in network namespaces made for it.
 * SIZES is a list of SERVICESxENDPOINTS, by default 100x10 and 10000x10.
 */
const node = process.execPath;
const mode = process.env['MODE'] ?? 'nftables';
const sizes = (process.env['SIZES'] ?? '100x10,10000x10').split(',').map((text) => {
  const [services = 0, endpoints = 0] = text.split('x').map(Number);
  return { services, endpoints };
});

interface Timing {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly operations: number;
}

interface SyncTimes {
  readonly model: number;
  readonly plan: number;
  readonly render: number;
  readonly encode: number;
  readonly first: number;
  readonly again: number;
  readonly endpointChange: Timing;
  readonly slotsChange: Timing;
  readonly serviceAdded: Timing;
}

if (mode === 'iptables') {
  await import('./iptables.ts');
} else {
  console.log(
    `nftables mode; Linux ${release()}, ${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}\n`,
  );
  for (const size of sizes) await benchSize(size.services, size.endpoints);
}

async function benchSize(services: number, endpoints: number): Promise<void> {
  const title = `${services.toLocaleString('en')} Services × ${endpoints} endpoints`;
  console.log(`${title}\n${'-'.repeat(title.length)}`);
  const times = await syncs(services, endpoints);
  const upstream = await loadUpstreamShape(services, endpoints);
  row('full sync: plan', times.plan);
  row('  render', times.render);
  row('  encode', times.encode);
  row('  kernel, into an empty table (with render and encode)', times.first);
  row('  kernel, replacing the same (with render and encode)', times.again);
  const full = times.plan + times.first;
  row('full sync, plan to acknowledgement', full);
  row(
    'nft -f of the same Services in kube-proxy’s shape',
    upstream.milliseconds,
    `${upstream.megabytes.toFixed(1)} MB of text`,
  );
  console.log(`${''.padEnd(4)}${(upstream.milliseconds / full).toFixed(1)} times as long`);
  timing('one endpoint changed, plan to acknowledgement', times.endpointChange);
  timing('endpoints cross a power of two', times.slotsChange);
  timing('one Service added', times.serviceAdded);
  const start = await startUp(services, endpoints);
  row('start to programmed, from the stand-in API server', start.programmed);
  row(
    'one change, API server to kernel: p50',
    start.changeToKernel.p50,
    `p99 ${start.changeToKernel.p99.toFixed(2)} ms`,
  );
  console.log(
    `    ${'resident memory after the start'.padEnd(58)}${start.residentAtStart.toFixed(0).padStart(10)} MB`,
  );
  console.log(
    `    ${'resident memory after 1,000 changes'.padEnd(58)}${start.residentAfterChanges.toFixed(0).padStart(10)} MB\n`,
  );
}

async function syncs(services: number, endpoints: number): Promise<SyncTimes> {
  using namespace = new BenchNamespace('sync');
  const script = join(import.meta.dirname, 'nftables-sync.ts');
  const { stdout } = await namespace.run(node, [
    '--max-semi-space-size=4',
    script,
    String(services),
    String(endpoints),
  ]);
  return JSON.parse(stdout) as SyncTimes;
}

async function loadUpstreamShape(
  services: number,
  endpoints: number,
): Promise<{ milliseconds: number; megabytes: number }> {
  using namespace = new BenchNamespace('nft');
  const folder = mkdtempSync(join(tmpdir(), 'flbench-'));
  try {
    const file = join(folder, 'ruleset.nft');
    await writeUpstreamRuleset(file, services, endpoints);
    const { milliseconds } = await namespace.run('nft', ['-f', file]);
    return { milliseconds, megabytes: statSync(file).size / 1e6 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startUp(services: number, endpoints: number) {
  using namespace = new BenchNamespace('start');
  const script = join(import.meta.dirname, 'start-up.ts');
  const { stdout } = await namespace.run(node, [script, String(services), String(endpoints)]);
  return JSON.parse(stdout) as {
    programmed: number;
    residentAtStart: number;
    residentAfterChanges: number;
    changeToKernel: { p50: number; p99: number };
  };
}

function row(name: string, milliseconds: number, note = ''): void {
  console.log(
    `    ${name.padEnd(58)}${milliseconds.toFixed(milliseconds < 10 ? 2 : 0).padStart(10)} ms  ${note}`,
  );
}

function timing(name: string, { p50, p99, max, operations }: Timing): void {
  row(
    `${name}: p50`,
    p50,
    `p99 ${p99.toFixed(2)} ms, max ${max.toFixed(2)} ms, ${operations.toFixed(1)} operations`,
  );
}
