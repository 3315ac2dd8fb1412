import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { systemClock } from '../../base/clock.ts';
import { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { makeRoomForConnections } from '../../kernel/conntrack/testing/table-limit.ts';
import { FlowFrontends, type FlowFrontendsInput } from './flow-frontends.ts';
import { reconcileConntrack } from './reconcile.ts';

const P1 = '10.244.1.21';
const P2 = '10.244.1.22';
const CLIENT = '10.244.1.1';
const VIP = { ip: '10.96.0.10', port: 53 };
const endpoint = (ip: string) => ({ ip, port: 5353 });

/** Answers each datagram with its own address. */
const SERVER = `
  const [ip, port] = process.argv.slice(1);
  const socket = require('dgram').createSocket('udp4');
  socket.on('message', (_, from) => socket.send(ip, from.port, from.address));
  socket.bind(Number(port), ip, () => console.log('ready'));`;

/** Sends from one port all the time; prints each answer, and ECONNREFUSED for each refusal. */
const PROBE = `
  const [from, fromPort, to, toPort] = process.argv.slice(1);
  const socket = require('dgram').createSocket('udp4');
  socket.on('message', (answer) => console.log(String(answer)));
  socket.on('error', (error) => console.log(error.code));
  socket.bind(Number(fromPort), from, () => socket.connect(Number(toPort), to, () =>
    setInterval(() => socket.send('?', (error) => error && console.log(error.code)), 20)));`;

let namespace: Namespace;
let conntrack: ConntrackConnection;
const probes: ChildProcess[] = [];

beforeAll(async () => {
  namespace = Namespace.create('flf-stale');
  namespace.run('ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
  for (const link of ['v0', 'v1']) namespace.run('ip', 'link', 'set', link, 'up');
  for (const ip of [CLIENT, P1, P2]) namespace.run('ip', 'address', 'add', `${ip}/24`, 'dev', 'v0');
  namespace.run('ip', 'route', 'add', '10.96.0.0/16', 'dev', 'v0', 'src', CLIENT);
  conntrack = namespace.inside(() => ConntrackConnection.open());
  for (const ip of [P1, P2]) {
    const server = namespace.spawn(process.execPath, '-e', SERVER, ip, '5353');
    await new Promise((resolve) => server.stdout?.once('data', resolve));
  }
});

afterEach(async () => {
  for (const child of probes.splice(0)) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  conntrack.flush();
});

afterAll(() => {
  conntrack?.close();
  namespace?.delete();
});

/** Programs the rules of a proxy: where new flows to a destination go, or that they are refused. */
function program(destination: string, to: string | 'reject' | 'nothing'): void {
  const match = destination.replace(':', ' udp dport ');
  const nat = to === 'reject' || to === 'nothing' ? '' : `ip daddr ${match} dnat to ${to}:5353`;
  const filter = to === 'reject' ? `ct state new ip daddr ${match} reject` : '';
  const rules = `add table ip t; delete table ip t; table ip t {
    chain nat { type nat hook output priority -100;
      ${nat}
    }
    chain filter { type filter hook output priority 0;
      ct state new accept comment "turns tracking on"
    }
    chain refuse { type filter hook output priority -10;
      ${filter}
    }
  }`;
  namespace.run('nft', rules);
}

function probe(port: number, destination: string): string[] {
  const answers: string[] = [];
  const child = namespace.spawn(
    process.execPath,
    '-e',
    PROBE,
    CLIENT,
    String(port),
    ...destination.split(':'),
  );
  probes.push(child);
  createInterface({ input: child.stdout! }).on('line', (line) => answers.push(line));
  return answers;
}

const frontendsOf = (input: Omit<FlowFrontendsInput, 'family'>) =>
  new FlowFrontends({ family: 'IPv4', ...input });

const reconcile = (input: Omit<FlowFrontendsInput, 'family'>) =>
  reconcileConntrack(conntrack, 'datagrams', frontendsOf(input), systemClock);

const served = (...ips: string[]) => ({
  servicePorts: [
    { protocol: 'UDP' as const, frontends: [VIP, { nodePort: 30_053 }], endpoints: ips.map(endpoint) },
  ],
});

const answer = (answers: string[], expected: string) =>
  vi.waitFor(() => expect(answers.at(-1)).toBe(expected), { timeout: 20_000, interval: 10 });

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('a client that never pauses moves on when its endpoint, then the last endpoint, goes (C01, C03)', async () => {
  program('10.96.0.10:53', P1);
  const answers = probe(40_000, '10.96.0.10:53');
  await answer(answers, P1);

  program('10.96.0.10:53', P2);
  await pause(200);
  expect(answers.at(-1)).toBe(P1);
  expect(await reconcile(served(P2))).toMatchObject({ deleted: 1, gone: 0 });
  await answer(answers, P2);

  // The flow is right now: it is left alone, and no answer is lost (C09).
  expect(await reconcile(served(P2))).toMatchObject({ deleted: 0 });

  program('10.96.0.10:53', 'reject');
  await pause(200);
  expect(answers.at(-1)).toBe(P2);
  expect(await reconcile(served())).toMatchObject({ deleted: 1 });
  await answer(answers, 'ECONNREFUSED');

  program('10.96.0.10:53', P1);
  await reconcile(served(P1));
  await answer(answers, P1);
});

test('a client that was there before the Service is served as soon as there is an endpoint (C02)', async () => {
  program('10.96.0.10:53', 'nothing');
  const answers = probe(40_001, '10.96.0.10:53');
  await vi.waitFor(() => expect(conntrack.countFlows()).toBe(1), { timeout: 20_000 });
  program('10.96.0.10:53', 'reject');
  await reconcile(served());
  await answer(answers, 'ECONNREFUSED');
  program('10.96.0.10:53', P1);
  await reconcile(served(P1));
  await answer(answers, P1);
  conntrack.listFlows({ family: 'IPv4' }, (flow) => expect(flow.reply.source).toBe(P1));
});

test('a nodePort that is taken away ends the flows to it (C06, C16)', async () => {
  program(`${CLIENT}:30053`, P1);
  const answers = probe(40_002, `${CLIENT}:30053`);
  await answer(answers, P1);
  program(`${CLIENT}:30053`, 'nothing');
  await reconcile({ servicePorts: [] });
  await pause(200);
  expect(answers.at(-1)).toBe(P1);
  const udp = { protocol: 'UDP' } as const;
  const renumbered = { ...udp, frontends: [{ nodePort: 30_054 }], endpoints: [endpoint(P1)] };
  const removed = [{ ...udp, frontends: [{ nodePort: 30_053 }] }];
  expect(await reconcile({ servicePorts: [renumbered], removed })).toMatchObject({
    deleted: 1,
  });
  await answer(answers, 'ECONNREFUSED');
});

test('2,780 frontends and 200,000 flows: one pass, little memory (C14)', async () => {
  using _room = makeRoomForConnections(250_000);
  program('10.96.0.10:53', 'nothing');
  const frontendIP = (i: number) => `10.100.${i >> 8}.${i & 255}`;
  const servicePorts = Array.from({ length: 2780 }, (_, i) => ({
    protocol: 'UDP' as const,
    frontends: [{ ip: frontendIP(i), port: 53 }],
    endpoints: [endpoint(`10.244.${i >> 8}.${i & 255}`), endpoint(`10.245.${i >> 8}.${i & 255}`)],
  }));
  for (let from = 0; from < 200_000; from += 20_000) {
    conntrack.createFlows(
      Array.from({ length: 20_000 }, (_, k) => {
        const i = from + k;
        // Mostly TCP; a quarter foreign UDP; each frontend has some flows, every tenth of them to a pod that is gone.
        const kind = i % 20;
        const protocol = kind < 14 ? 6 : 17;
        const n = i % 2780;
        const toFrontend = kind >= 19;
        const destination = toFrontend ? frontendIP(n) : `192.168.${n >> 8}.${n & 255}`;
        const source = `10.${64 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
        const isGone = toFrontend && i % 200 === 19;
        const replySource = toFrontend ? `10.${isGone ? 246 : 244}.${n >> 8}.${n & 255}` : destination;
        return {
          original: { protocol, source, sourcePort: 4000, destination, destinationPort: 53 },
          reply: {
            protocol,
            source: replySource,
            sourcePort: toFrontend ? 5353 : 53,
            destination: source,
            destinationPort: 4000,
          },
          timeoutSeconds: 3600,
        };
      }),
    );
  }
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const result = await reconcile({ servicePorts });
  expect(result).toMatchObject({ examined: 60_000, deleted: 1000, gone: 0, rejections: [] });
  expect(process.memoryUsage().rss - before).toBeLessThan(20 << 20);
  let tcp = 0;
  conntrack.listFlows({ family: 'IPv4', protocol: 6 }, () => tcp++);
  expect(tcp).toBe(140_000);
  expect(await reconcile({ servicePorts })).toMatchObject({ examined: 59_000, deleted: 0 });
});
