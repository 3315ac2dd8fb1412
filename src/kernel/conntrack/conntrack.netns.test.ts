import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { NETLINK_NETFILTER, openNetlinkSocket } from '../netlink/netlink-socket.ts';
import { ConntrackConnection } from './conntrack-connection.ts';
import type { NewFlow } from './conntrack-message.ts';
import { FlowDeletions } from './flow-deletions.ts';
import { flowMatches } from './flow-matches.ts';
import { makeRoomForConnections } from './testing/table-limit.ts';

const TCP = 6;
const UDP = 17;
const SCTP = 132;

let namespace: Namespace;
let conntrack: ConntrackConnection;

beforeAll(() => {
  namespace = Namespace.create('flf-conntrack');
  conntrack = namespace.inside(() => ConntrackConnection.open());
});

afterEach(() => conntrack.flush());

afterAll(() => {
  conntrack?.close();
  namespace?.delete();
});

function flowOf(index: number, protocol: number, more: Partial<NewFlow> = {}): NewFlow {
  const source = `10.${64 + (index >> 14)}.${(index >> 7) & 127}.${index & 127}`;
  const sourcePort = 1024 + (index % 60_000);
  return {
    original: {
      protocol,
      source,
      sourcePort,
      destination: `10.96.${(index >> 8) & 255}.${index & 255}`,
      destinationPort: 53,
    },
    reply: {
      protocol,
      source: `10.244.0.${index % 250}`,
      sourcePort: 5353,
      destination: source,
      destinationPort: sourcePort,
    },
    timeoutSeconds: 3600,
    ...more,
  };
}

function listed(query: Parameters<ConntrackConnection['listFlows']>[0]) {
  const flows: { original: unknown; reply: unknown }[] = [];
  conntrack.listFlows(query, ({ original, reply }) => flows.push({ original, reply }));
  return flows;
}

test('what is created is listed, and as `conntrack -L` prints it', () => {
  const v4 = flowOf(1, UDP, { mark: 0x4000 });
  const v6: NewFlow = {
    original: {
      protocol: UDP,
      source: 'fd00::1',
      sourcePort: 9,
      destination: 'fd96::10',
      destinationPort: 53,
    },
    reply: { protocol: UDP, source: 'fd44::1', sourcePort: 5353, destination: 'fd00::1', destinationPort: 9 },
    timeoutSeconds: 60,
  };
  conntrack.createFlows([v4, v6]);
  expect(conntrack.countFlows()).toBe(2);
  expect(listed({ family: 'IPv4' })).toEqual([{ original: v4.original, reply: v4.reply }]);
  expect(listed({ family: 'IPv6' })).toEqual([{ original: v6.original, reply: v6.reply }]);
  const printed = namespace.run('conntrack', '-L', '-p', 'udp');
  expect(printed).toContain(
    'src=10.64.0.1 dst=10.96.0.1 sport=1025 dport=53 [UNREPLIED] src=10.244.0.1 dst=10.64.0.1 sport=5353 dport=1025 mark=16384',
  );
  conntrack.flush('IPv6');
  expect(listed({ family: 'IPv6' })).toEqual([]);
  expect(conntrack.countFlows()).toBe(1);
});

test('the kernel itself filters by protocol and status', () => {
  const protocols = [TCP, UDP, SCTP];
  conntrack.createFlows(Array.from({ length: 600 }, (_, i) => flowOf(i, protocols[i % 3]!)));
  conntrack.createFlows([flowOf(9999, UDP, { status: 0b1010 })]);
  const sent: number[] = [];
  const socket = namespace.inside(() => openNetlinkSocket(NETLINK_NETFILTER));
  const { receive } = socket;
  // Counts messages before our own filter sees them; a dump's last message is not one of them.
  socket.receive = (mode, op) => {
    const datagram = receive.call(socket, mode, op);
    for (let at = 0; datagram !== undefined && at < datagram.length; at += datagram.readUInt32LE(at)) {
      if (datagram.readUInt16LE(at + 4) === 0x100) sent.push(at);
    }
    return datagram;
  };
  const counting = new ConntrackConnection(new NetlinkConnection(socket));
  const count = (query: Parameters<ConntrackConnection['listFlows']>[0]) => {
    sent.length = 0;
    let visited = 0;
    counting.listFlows(query, () => visited++);
    return { visited, sent: sent.length };
  };
  expect(count({ family: 'IPv4' })).toEqual({ visited: 601, sent: 601 });
  expect(count({ family: 'IPv4', protocol: UDP })).toEqual({ visited: 201, sent: 201 });
  expect(count({ family: 'IPv4', protocol: UDP, status: { value: 2, mask: 2 } })).toEqual({
    visited: 1,
    sent: 1,
  });
  expect(count({ family: 'IPv6', protocol: UDP })).toEqual({ visited: 0, sent: 0 });
  counting.close();
});

test('flows are deleted by what a listing showed, many at once', () => {
  conntrack.createFlows(Array.from({ length: 5000 }, (_, i) => flowOf(i, UDP)));
  const deletions = new FlowDeletions();
  const isTarget = flowMatches({ protocol: UDP, replySource: '10.244.0.7' });
  conntrack.listFlows({ family: 'IPv4', protocol: UDP }, (flow) => {
    if (!isTarget(flow)) deletions.add(flow);
  });
  expect(conntrack.deleteFlows(deletions)).toEqual({ deleted: 4980, gone: 0, rejections: [] });
  expect(conntrack.countFlows()).toBe(20);
  expect(conntrack.deleteFlows(deletions)).toEqual({ deleted: 0, gone: 4980, rejections: [] });
});

test('a later flow with the same addresses survives a deletion meant for its predecessor', () => {
  const flow = flowOf(1, UDP);
  conntrack.createFlows([flow]);
  const deletions = new FlowDeletions();
  conntrack.listFlows({ family: 'IPv4' }, (view) => deletions.add(view));
  conntrack.flush();
  // Enough others that the kernel does not hand out the same memory, from which it makes the id.
  conntrack.createFlows(Array.from({ length: 100 }, (_, i) => flowOf(1000 + i, UDP)));
  conntrack.createFlows([flow]);
  expect(conntrack.deleteFlows(deletions)).toMatchObject({ deleted: 0, gone: 1 });
  const byTuple = new FlowDeletions();
  byTuple.addTuple(flow.original);
  expect(conntrack.deleteFlows(byTuple)).toMatchObject({ deleted: 1, gone: 0 });
});

test('flows in a zone are listed with it and deleted from it', () => {
  conntrack.createFlows([flowOf(1, UDP), flowOf(1, UDP, { zone: 7 })]);
  const deletions = new FlowDeletions();
  conntrack.listFlows({ family: 'IPv4' }, (flow) => {
    if (flow.zone === 7) deletions.add(flow);
  });
  expect(conntrack.deleteFlows(deletions)).toMatchObject({ deleted: 1 });
  const zones: number[] = [];
  conntrack.listFlows({ family: 'IPv4' }, (flow) => zones.push(flow.zone));
  expect(zones).toEqual([0]);
});

test('a pass over 200,000 flows costs no memory to speak of, and the event loop keeps turning', async () => {
  using _room = makeRoomForConnections(250_000);
  for (let from = 0; from < 200_000; from += 20_000) {
    conntrack.createFlows(
      Array.from({ length: 20_000 }, (_, i) => flowOf(from + i, (from + i) % 5 === 0 ? UDP : TCP)),
    );
  }
  expect(conntrack.countFlows()).toBe(200_000);
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  let turns = 0;
  const timer = setInterval(() => {
    turns++;
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 1);
  let flows = 0;
  await conntrack.listFlowsInBackground({ family: 'IPv4' }, () => flows++);
  clearInterval(timer);
  expect(flows).toBe(200_000);
  expect(turns).toBeGreaterThan(20);
  expect(peak - before).toBeLessThan(16 << 20);
});
