import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { makeRoomForConnections } from '../../kernel/conntrack/testing/table-limit.ts';
import { FlowFrontends } from './flow-frontends.ts';
import { reconcileConntrack } from './reconcile.ts';
import { sendSctpInit, type Wire } from './testing/sctp-init.ts';

const P1 = '10.244.1.21';
const P2 = '10.244.1.22';
/** Nobody has this address: a SYN to it stays without answer. */
const NOBODY = '10.244.1.99';
const CLIENT = '10.244.1.1';
const REMOTE = '10.244.9.9';
const VIP = '10.96.0.10';
const TCP = 6;
const SCTP = 132;

/** Answers each line with its own address. */
const SERVER = `
  const [ip, port] = process.argv.slice(1);
  require('net').createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write(ip + '\\n'));
  }).listen(Number(port), ip, () => console.log('ready'));`;

/** Connects again and again from a few source ports, never waiting long; prints each answer. */
const RETRIES = `
  const [from, to, port, ...ports] = process.argv.slice(1);
  for (const localPort of ports.map(Number)) {
    const again = () => {
      const socket = require('net').connect({ host: to, port: Number(port), localAddress: from, localPort });
      socket.setTimeout(100, () => socket.resetAndDestroy());
      socket.on('connect', () => socket.write('?'));
      socket.on('data', (answer) => { console.log(localPort + ' ' + String(answer).trim()); socket.resetAndDestroy(); });
      socket.on('error', () => {});
      socket.on('close', () => setTimeout(again, 10));
    };
    again();
  }`;

/** Holds one connection and asks all the time; prints each answer, and how it ended. */
const HOLDER = `
  const [from, to, port, localPort] = process.argv.slice(1);
  const socket = require('net').connect({ host: to, port: Number(port), localAddress: from, localPort: Number(localPort) });
  socket.on('data', (answer) => console.log(String(answer).trim()));
  socket.on('error', (error) => console.log(error.code));
  socket.on('close', () => console.log('closed'));
  setInterval(() => socket.write('?'), 20);`;

let namespace: Namespace;
let conntrack: ConntrackConnection;
let wire: Wire;
const children: ChildProcess[] = [];

beforeAll(async () => {
  namespace = Namespace.create('flf-opening');
  namespace.run('ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
  for (const link of ['v0', 'v1']) namespace.run('ip', 'link', 'set', link, 'up');
  for (const ip of [CLIENT, P1, P2]) namespace.run('ip', 'address', 'add', `${ip}/24`, 'dev', 'v0');
  namespace.run('ip', 'route', 'add', '10.96.0.0/16', 'dev', 'v0', 'src', CLIENT);
  const settings = ['ip_forward=1', 'conf.all.rp_filter=0', 'conf.v1.rp_filter=0'];
  for (const setting of settings) namespace.run('sysctl', '-qw', `net.ipv4.${setting}`);
  const links = JSON.parse(namespace.run('ip', '-j', 'link')) as {
    ifname: string;
    ifindex: number;
    address: string;
  }[];
  const [v0, v1] = ['v0', 'v1'].map((name) => links.find((link) => link.ifname === name)!);
  wire = { ifindex: v0!.ifindex, from: v0!.address, to: v1!.address };
  conntrack = namespace.inside(() => ConntrackConnection.open());
  for (const ip of [P1, P2]) {
    const server = namespace.spawn(process.execPath, '-e', SERVER, ip, '8080');
    await new Promise((resolve) => server.stdout?.once('data', resolve));
  }
});

afterEach(async () => {
  for (const child of children.splice(0)) {
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

/** Programs the rules of a proxy: where new flows to the address go. */
function program(to: string | 'nowhere', protocol = 'tcp'): void {
  const nat = to === 'nowhere' ? '' : `ip daddr ${VIP} ${protocol} dport 80 dnat to ${to}:8080`;
  namespace.run(
    'nft',
    `add table ip t; delete table ip t; table ip t {
      chain output { type nat hook output priority -100; ${nat}; }
      chain prerouting { type nat hook prerouting priority -100; ${nat}; }
      chain track { type filter hook output priority 0; ct state new accept; }
    }`,
  );
}

/** What a child printed so far. */
function start(script: string, ...args: string[]): string[] {
  const lines: string[] = [];
  const child = namespace.spawn(process.execPath, '-e', script, ...args);
  children.push(child);
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line));
  return lines;
}

/** Frontends after a sync that left the Service with these endpoints. */
const serving = (protocol: 'TCP' | 'SCTP', ...ips: string[]) =>
  new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        protocol,
        frontends: [{ ip: VIP, port: 80 }],
        endpoints: ips.map((ip) => ({ ip, port: 8080 })),
      },
    ],
  });

const reconcile = (connections: FlowFrontends, clock = systemClock) =>
  reconcileConntrack(conntrack, 'connections', connections, clock);

function replySources(protocol: number): string[] {
  const sources: string[] = [];
  conntrack.listFlows({ family: 'IPv4', protocol }, (flow) => sources.push(flow.reply.source));
  return sources;
}

const soon = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 20 });
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const PORTS = ['50000', '50001', '50002', '50003'];

test('a client with few source ports that came before the Service is served once there is one (C18)', async () => {
  program('nowhere');
  const answers = start(RETRIES, CLIENT, VIP, '80', ...PORTS);
  await soon(() => expect(replySources(TCP)).toEqual(PORTS.map(() => VIP)));
  program(P1);
  // Each SYN renews what is tracked, so rules alone do not help.
  await pause(500);
  expect(answers).toEqual([]);
  // Without an endpoint there is nothing better for them.
  expect(await reconcile(serving('TCP'))).toMatchObject({ examined: 4, deleted: 0 });
  expect(await reconcile(serving('TCP', P1))).toMatchObject({ examined: 4, deleted: 4, answered: 0 });
  await soon(() => expect(new Set(answers)).toEqual(new Set(PORTS.map((port) => `${port} ${P1}`))));
});

test('a client whose endpoint left without answering is served by another one', async () => {
  program(NOBODY);
  const answers = start(RETRIES, CLIENT, VIP, '80', '50004');
  await soon(() => expect(replySources(TCP)).toEqual([NOBODY]));
  program(P2);
  expect(await reconcile(serving('TCP', P2, NOBODY))).toMatchObject({ deleted: 0 });
  expect(await reconcile(serving('TCP', P2))).toMatchObject({ deleted: 1 });
  await soon(() => expect(answers).toContain(`50004 ${P2}`));
});

test('an established connection goes on when its endpoint leaves (C19)', async () => {
  program(P1);
  const answers = start(HOLDER, CLIENT, VIP, '80', '50005');
  await soon(() => expect(answers.at(-1)).toBe(P1));
  program(P2);
  expect(await reconcile(serving('TCP', P2))).toMatchObject({ examined: 0, deleted: 0 });
  expect(await reconcile(serving('TCP'))).toMatchObject({ examined: 0, deleted: 0 });
  const count = answers.length;
  await soon(() => expect(answers.length).toBeGreaterThan(count + 20));
  expect(new Set(answers)).toEqual(new Set([P1]));
});

test('a SYN-ACK that is under way from an endpoint that left comes in time', async () => {
  program(P1);
  // Nothing of the endpoint is tracked while this stands.
  namespace.run(
    'nft',
    `table ip late { chain output { type filter hook output priority -400; ip saddr ${P1} tcp sport 8080 drop; }; }`,
  );
  const answers = start(HOLDER, CLIENT, VIP, '80', '50006');
  await soon(() => expect(replySources(TCP)).toEqual([P1]));
  program(P2);
  const answeredMeanwhile: Clock = {
    ...systemClock,
    schedule(_milliseconds, callback) {
      namespace.run('nft', 'delete table ip late');
      void soon(() => expect(answers.at(-1)).toBe(P1)).then(callback);
      return { cancel() {} };
    },
  };
  expect(await reconcile(serving('TCP', P2), answeredMeanwhile)).toMatchObject({
    examined: 1,
    deleted: 0,
    answered: 1,
  });
  const count = answers.length;
  await soon(() => expect(answers.length).toBeGreaterThan(count + 5));
  expect(new Set(answers)).toEqual(new Set([P1]));
});

test.skipIf(!existsSync('/proc/sys/net/netfilter/nf_conntrack_sctp_timeout_cookie_wait'))(
  'an SCTP INIT that is sent again goes to the endpoint that is left (C17)',
  async () => {
    const init = () =>
      namespace.inside(() =>
        sendSctpInit({ source: REMOTE, sourcePort: 38_412, destination: VIP, destinationPort: 80 }, wire),
      );
    const goesTo = async (ip: string) => {
      init();
      await soon(() => expect(replySources(SCTP)).toEqual([ip]));
    };
    program('nowhere', 'sctp');
    await goesTo(VIP);
    program(P1, 'sctp');
    await goesTo(VIP);
    expect(await reconcile(serving('SCTP', P1))).toMatchObject({ deleted: 1 });
    await goesTo(P1);
    expect(await reconcile(serving('SCTP', P1))).toMatchObject({ examined: 1, deleted: 0 });
    program(P2, 'sctp');
    await goesTo(P1);
    expect(await reconcile(serving('SCTP', P2))).toMatchObject({ deleted: 1 });
    await goesTo(P2);
  },
);

test('the same over IPv6', async () => {
  const [vip, pod, gone] = ['fd96::13', 'fd44::1', 'fd44::2'];
  const flow = (sourcePort: number, to: string, status: number) => ({
    original: {
      protocol: TCP,
      source: 'fd00::50',
      sourcePort,
      destination: vip,
      destinationPort: 80,
    },
    reply: {
      protocol: TCP,
      source: to,
      sourcePort: to === vip ? 80 : 8080,
      destination: 'fd00::50',
      destinationPort: sourcePort,
    },
    timeoutSeconds: 3600,
    connectionState: status === 8 ? 1 : 3,
    status,
  });
  conntrack.createFlows([flow(1, vip, 8), flow(2, pod, 8), flow(3, gone, 8), flow(4, gone, 0b1110)]);
  const connections = new FlowFrontends({
    family: 'IPv6',
    servicePorts: [
      { protocol: 'TCP', frontends: [{ ip: vip, port: 80 }], endpoints: [{ ip: pod, port: 8080 }] },
    ],
  });
  expect(await reconcile(connections)).toMatchObject({
    examined: 3,
    deleted: 2,
    answered: 0,
    rejections: [],
  });
  const left: number[] = [];
  conntrack.listFlows({ family: 'IPv6', protocol: TCP }, (view) => left.push(view.original.sourcePort));
  expect(left.sort()).toEqual([2, 4]);
});

test('200,000 established connections are not even shown (C14)', async () => {
  using _room = makeRoomForConnections(250_000);
  program('nowhere');
  for (let from = 0; from < 200_000; from += 20_000) {
    conntrack.createFlows(
      Array.from({ length: 20_000 }, (_, k) => {
        const i = from + k;
        const source = `10.${64 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
        const isOpening = i % 10_000 === 0;
        return {
          original: { protocol: TCP, source, sourcePort: 4000, destination: VIP, destinationPort: 80 },
          reply: {
            protocol: TCP,
            source: NOBODY,
            sourcePort: 8080,
            destination: source,
            destinationPort: 4000,
          },
          timeoutSeconds: 3600,
          connectionState: isOpening ? 1 : 3,
          status: isOpening ? 0b1000 : 0b1110,
        };
      }),
    );
  }
  expect(await reconcile(serving('TCP', P1))).toMatchObject({ examined: 20, deleted: 20, rejections: [] });
  expect(await reconcile(serving('TCP', P1))).toMatchObject({ examined: 0, deleted: 0 });
  let established = 0;
  conntrack.listFlows({ family: 'IPv4', protocol: TCP, status: { value: 2, mask: 2 } }, () => established++);
  expect(established).toBe(200_000 - 20);
});
