import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LineProcess } from '../testbed/line-process.ts';
import type { Attack, HostileReport, HostileRequest } from './hostile-child.ts';
import { NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import { KUBE_PROXY } from './proxy-process.ts';
import { shop } from './shop.ts';
import { waitUntil } from './wait-until.ts';

// Clients that mean harm to the three kinds of HTTP ports: what is asked of the kernel must not wait for them.

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

const HOST = '172.31.0.11';
const HEALTH_CHECK_PORT = 32_100;
const PORTS = [10256, 10249, HEALTH_CHECK_PORT];

const onAllPorts = (attack: Omit<Attack, 'host' | 'port'>): Attack[] =>
  PORTS.map((port) => ({ ...attack, host: HOST, port }));
const scrape = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
const headers = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';
const slow = { opening: headers, payload: 'X: y\r\n', everyMilliseconds: 500, reads: true };

const attacks: Readonly<Record<string, { readonly attacks: readonly Attack[]; readonly opened: number }>> = {
  '10,000 connections that trickle their headers or say nothing': {
    attacks: [
      ...onAllPorts({ ...slow, connections: 1700 }),
      ...onAllPorts({ ...slow, connections: 1700, opening: '', payload: '' }),
    ],
    opened: 10_000,
  },
  'headers and bodies without end, garbage behind requests': {
    attacks: [
      ...onAllPorts({
        ...slow,
        connections: 10,
        payload: `X: ${'y'.repeat(8000)}\r\n`,
        everyMilliseconds: 1,
      }),
      ...onAllPorts({
        ...slow,
        connections: 10,
        opening: 'POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000000\r\n\r\n',
        payload: 'z'.repeat(8000),
        everyMilliseconds: 1,
      }),
      ...onAllPorts({
        ...slow,
        connections: 10,
        opening: `${headers}\r\n\0\u0001garbage\r\n\r\n`,
        payload: '\0\u00ff'.repeat(100),
      }),
    ],
    opened: 500,
  },
  'scrapes without pause, also by clients that do not read the answers': {
    attacks: [true, false].map((reads) => ({
      ...slow,
      host: HOST,
      port: 10249,
      connections: 60,
      opening: scrape,
      payload: scrape,
      everyMilliseconds: 5,
      reads,
    })),
    opened: 120,
  },
};

test.each(Object.entries(attacks))('%s: changes get into the kernel, probes are answered', (_name, attack) =>
  // All limits together, and what the proxy needs itself.
  endures(attack, 'nftables', {}, 256 + 64 + 2 * 1024 + 100),
);

test('a process that may open few files keeps enough of them for the API server and for iptables', () => {
  const program = { program: 'prlimit', before: ['--nofile=512:512', KUBE_PROXY] };
  return endures(Object.values(attacks)[0]!, 'iptables', program, 512);
});

async function endures(
  { attacks, opened }: { readonly attacks: readonly Attack[]; readonly opened: number },
  mode: 'nftables' | 'iptables',
  options: Parameters<NodeBed['start']>[1],
  mostFiles: number,
): Promise<void> {
  const policy = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: HEALTH_CHECK_PORT,
  };
  const local = service('local', '10.96.0.62', { nodePort: 32_101, spec: policy });
  await bed.api.apply(...shop(), local, slice('local', ['10.244.1.2']));
  const proxy = bed.start(mode, { config: { metricsBindAddress: '0.0.0.0:10249' }, ...options });
  await bed.synced(proxy);
  const client = LineProcess.start(
    bed.testbed.fullName('client'),
    new URL('./hostile-child.ts', import.meta.url),
  );
  try {
    await client.request({ op: 'attack', attacks } satisfies HostileRequest);
    const report = async () =>
      (await client.request({ op: 'report' } satisfies HostileRequest)) as HostileReport;
    await waitUntil('the attack is on', async () => (await report()).opened >= opened, 60_000);

    for (let round = 1; round <= 5; round++) {
      const address = `10.96.1.${round}`;
      // Connections to the API server are opened anew.
      await bed.api.control('POST /watches/cut', { how: 'close' });
      await bed.api.apply(service(`new-${round}`, address), slice(`new-${round}`, ['10.244.1.2']));
      await bed.answersSoon(proxy, `${address}:80`, 30_000);
      for (const port of [10256, HEALTH_CHECK_PORT]) {
        const check = { from: 'pod-a', to: `${HOST}:${port}`, proto: 'http', path: '/healthz' } as const;
        expect(await bed.probe({ ...check, timeoutMilliseconds: 10_000 })).toMatchObject({ status: 200 });
      }
    }
    expect(readdirSync(`/proc/${proxy.pid}/fd`).length).toBeLessThan(mostFiles);
    expect((await report()).open).toBeGreaterThan(0);
  } finally {
    await client.stop();
  }
  // Of those that it has closed, the kernel goes on for a minute to tell clients that are gone.
  const held = ['state', 'established', 'state', 'close-wait', 'sport', '=', ':10256'];
  const openSockets = async () => (await bed.run(['ss', '-tnH', ...held])).split('\n').length;
  await waitUntil('no connection is left', async () => (await openSockets()) <= 2, 40_000);
  expect(proxy.lines(/^[EF]/)).toEqual([]);
  expect((await proxy.end()).code).toBe(0);
}
