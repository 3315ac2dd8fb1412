import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { sliceObjects } from '../cluster/generate-objects.ts';

/**
 * Starts Fairlead against the stand-in API server, in the network namespace it is started in, and changes endpoints:
 * `start-up.ts SERVICES ENDPOINTS`. Prints one JSON line: milliseconds from starting the process to the end of the first
 * full sync; resident megabytes then and after a thousand changes; the median milliseconds from sending one change to
 * the API server to the end of the sync that brought it into the kernel.
 */
const services = Number(process.argv[2] ?? 10_000);
const endpoints = Number(process.argv[3] ?? 10);
const CHANGES = 1000;
const NODES = 500;
const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'flbench-'));
const kubeconfig = join(folder, 'kubeconfig');

const shape = { services, endpoints, nodes: NODES };
const api = start(process.execPath, [
  join(root, 'test/cluster/main.ts'),
  '--generate',
  `services=${services},endpoints=${endpoints},nodes=${NODES}`,
  '--kubeconfig',
  kubeconfig,
]);
let proxy: ChildProcess | undefined;
try {
  const [line] = (await once(lines(api.stdout!), 'line')) as [string];
  const { control } = JSON.parse(line) as { control: string };
  const started = performance.now();
  proxy = start(join(root, 'bin/fairlead'), [
    '--kubeconfig',
    kubeconfig,
    '--proxy-mode',
    'nftables',
    '--hostname-override',
    'node1',
    '--conntrack-max-per-core=0',
    '--iptables-min-sync-period=0',
    '-v=2',
  ]);
  const log = lines(proxy.stderr!);
  await synced(log);
  const programmed = performance.now() - started;
  await sleep(3000);
  const residentAtStart = resident(proxy.pid!);
  const latencies: number[] = [];
  for (let k = 0; k < CHANGES; k++) {
    const [slice] = sliceObjects((k * 7919) % services, shape, 'IPv4', NODES, k % 2 === 0 ? 1 : 0);
    const done = synced(log);
    const sent = performance.now();
    await fetch(new URL('/apply', control), { method: 'POST', body: JSON.stringify(slice) });
    await done;
    latencies.push(performance.now() - sent);
  }
  await sleep(500);
  latencies.sort((a, b) => a - b);
  const changeToKernel = {
    p50: latencies[latencies.length >> 1],
    p99: latencies[Math.floor(latencies.length * 0.99)],
  };
  console.log(
    JSON.stringify({
      programmed,
      residentAtStart,
      residentAfterChanges: resident(proxy.pid!),
      changeToKernel,
    }),
  );
} finally {
  for (const child of [proxy, api]) {
    if (child === undefined) continue;
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
  }
  rmSync(folder, { recursive: true, force: true });
}

function start(command: string, args: readonly string[]): ChildProcess {
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

function lines(stream: NodeJS.ReadableStream): Interface {
  return createInterface({ input: stream });
}

/** Resolves with the log line of the next IPv4 sync that has ended. */
async function synced(log: Interface): Promise<void> {
  for (;;) {
    const [line] = (await once(log, 'line')) as [string];
    if (line.includes('"Synced"') && line.includes('"IPv4"')) return;
    if (/^[EF]\d{4} /.test(line)) console.error(line);
  }
}

/** Resident memory of a process in megabytes; bin/fairlead replaces itself by the program, so its pid is the program's. */
function resident(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(match?.[1]) * 1024) / 1e6;
}
