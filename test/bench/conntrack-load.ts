/**
 * How long a new TCP Service takes while the conntrack table is passed over (C14): 2,780 UDP Services, a table of 200,000
 * flows, most of them established TCP and foreign UDP. Each second an endpoint of a UDP Service is replaced, which is
 * what passes are for, and a TCP Service comes right behind it; before that the same with an empty table. Prints milliseconds
 * from the request to the API server to the first answer, and the proxy's processor time and memory.
 * Needs root; works in network namespaces of its own.
 *
 *   node test/bench/conntrack-load.ts [nftables|iptables]
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ConntrackConnection } from '../../src/kernel/conntrack/conntrack-connection.ts';
import { makeRoomForConnections } from '../../src/kernel/conntrack/testing/table-limit.ts';
import { type Mode, NodeBed } from '../netns/lifecycle/node-bed.ts';
import { node, service, serviceCIDR, slice } from '../netns/lifecycle/objects.ts';
import type { ProxyProcess } from '../netns/lifecycle/proxy-process.ts';

const SERVICES = 2780;
const FLOWS = 200_000;
const ROUNDS = 20;
const PODS = ['10.244.1.2', '10.244.1.3'] as const;

if (process.argv[2] === 'fill') fill();
else await measure((process.argv[2] ?? 'nftables') as Mode);

async function measure(mode: Mode): Promise<void> {
  using _room = makeRoomForConnections(FLOWS + 50_000);
  const bed = await NodeBed.create();
  try {
    // In place of a default route, so that what is not served yet is refused at once.
    await bed.run(['ip', 'route', 'add', '10.96.0.0/16', 'dev', 'cbr0']);
    for (const flows of [0, FLOWS]) {
      await bed.reset();
      await bed.api.apply(node(), serviceCIDR('kubernetes', ['10.96.0.0/16']));
      const all = Array.from({ length: SERVICES }, (_, i) => i);
      await bed.api.apply(...all.flatMap((i) => [udpService(i), udpSlice(i, 0)]));
      const proxy = bed.start(mode);
      await bed.synced(proxy, 60_000);
      if (flows > 0) await bed.run([process.execPath, fileURLToPath(import.meta.url), 'fill']);
      await sleep(3000);
      const passes = await passesOf(bed);
      const [before, startedAt] = [usage(proxy), performance.now()];
      const delays: number[] = [];
      let peak = before.megabytes;
      for (let round = 0; round < ROUNDS; round++) {
        await bed.api.apply(udpSlice(round, 1));
        delays.push(await newService(bed, round));
        peak = Math.max(peak, usage(proxy).megabytes);
        await sleep(Math.max(0, startedAt + (round + 1) * 1000 - performance.now()));
      }
      const after = await passesOf(bed);
      delays.sort((a, b) => a - b);
      console.log(
        [
          `${mode}, ${SERVICES} UDP Services, ${flows} flows:`,
          `new TCP Service p50 ${ms(delays[ROUNDS >> 1]!)}, max ${ms(delays.at(-1)!)};`,
          `${after.count - passes.count} passes of ${ms(((after.seconds - passes.seconds) * 1000) / (after.count - passes.count))} on average;`,
          `${ms((usage(proxy).cpuSeconds - before.cpuSeconds) * 1000)} of processor time in ${((performance.now() - startedAt) / 1000).toFixed(0)} s;`,
          `resident ${before.megabytes.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most`,
        ].join(' '),
      );
    }
  } finally {
    await bed.close();
  }
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(0)} ms`;
}

function udpService(i: number) {
  return service(`udp-${i}`, frontendIP(i), { protocol: 'UDP', port: 53 });
}

function udpSlice(i: number, pod: 0 | 1) {
  return slice(`udp-${i}`, [PODS[pod]], { protocol: 'UDP', port: 5353 });
}

function frontendIP(i: number): string {
  return `10.96.${16 + (i >> 8)}.${i & 255}`;
}

/** Milliseconds from the creation of a Service until a client is answered. */
async function newService(bed: NodeBed, number: number): Promise<number> {
  const ip = `10.96.8.${number}`;
  const begin = performance.now();
  await bed.api.apply(service(`tcp-${number}`, ip), slice(`tcp-${number}`, PODS));
  while (!(await bed.answers(`${ip}:80`, 'client', 20))) {
    if (performance.now() - begin > 60_000) throw new Error('the Service is never served');
  }
  return performance.now() - begin;
}

async function passesOf(bed: NodeBed): Promise<{ readonly count: number; readonly seconds: number }> {
  const name = 'kubeproxy_conntrack_reconciler_sync_duration_seconds';
  const of = (part: string) => bed.metric(`${name}_${part}{ip_family="IPv4"}`);
  return { count: await of('count'), seconds: await of('sum') };
}

function usage({ pid }: ProxyProcess): { readonly cpuSeconds: number; readonly megabytes: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, megabytes: Number(resident) / 1000 };
}

/** Fills the table of the network namespace this runs in. */
function fill(): void {
  const [TCP, UDP, ANSWERED, ESTABLISHED] = [6, 17, 0b1110, 3];
  const conntrack = ConntrackConnection.open();
  for (let from = 0; from < FLOWS; from += 20_000) {
    conntrack.createFlows(
      Array.from({ length: 20_000 }, (_, k) => {
        const i = from + k;
        const protocol = i % 20 < 14 ? TCP : UDP;
        const toFrontend = i % 20 === 19;
        const destination = toFrontend ? frontendIP(i % SERVICES) : `192.0.2.${i & 127}`;
        const source = `10.${64 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
        return {
          original: { protocol, source, sourcePort: 4000, destination, destinationPort: 53 },
          reply: {
            protocol,
            source: toFrontend ? PODS[0] : destination,
            sourcePort: toFrontend ? 5353 : 53,
            destination: source,
            destinationPort: 4000,
          },
          timeoutSeconds: 3600,
          status: ANSWERED,
          ...(protocol === TCP ? { connectionState: ESTABLISHED } : {}),
        };
      }),
    );
  }
  conntrack.close();
}
