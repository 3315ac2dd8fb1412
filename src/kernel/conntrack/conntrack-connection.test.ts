import { describe, expect, test } from 'vitest';
import { MESSAGE_HEADER, type NetlinkMessage, NLM_F_ACK, NLM_F_DUMP } from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import {
  type FakeAnswer,
  type FakeMessage,
  FakeNetlinkSocket,
} from '../netlink/testing/fake-netlink-socket.ts';
import {
  CTA_FILTER,
  CTA_ID,
  CTA_STATUS,
  CTA_STATUS_MASK,
  CTA_TUPLE_ORIG,
  CTA_ZONE,
} from './conntrack-attributes.ts';
import { ConntrackConnection } from './conntrack-connection.ts';
import { encodeNewFlow, type NewFlow } from './conntrack-message.ts';
import { FlowDeletions } from './flow-deletions.ts';
import { flowBetween, flowView } from './testing/flow-view.ts';

const CT_NEW = 0x100;
const CT_GET = 0x101;
const CT_DELETE = 0x102;

const flowOf = (port: number, protocol: number): NewFlow => ({
  original: {
    protocol,
    source: '10.0.0.1',
    sourcePort: port,
    destination: '10.96.0.10',
    destinationPort: 53,
  },
  reply: { protocol, source: '10.0.0.2', sourcePort: 53, destination: '10.0.0.1', destinationPort: port },
  timeoutSeconds: 30,
});

const entry = (port: number, protocol = 17): FakeMessage => ({
  type: CT_NEW,
  body: (writer) => {
    writer.bytes[writer.reserve(4)] = 2;
    encodeNewFlow(writer, flowOf(port, protocol));
  },
});

function connect(answer: (message: NetlinkMessage) => FakeAnswer) {
  const socket = new FakeNetlinkSocket(answer);
  return { socket, conntrack: new ConntrackConnection(new NetlinkConnection(socket)) };
}

function attributeTypes(message: NetlinkMessage): number[] {
  const types: number[] = [];
  const reader = message.attributes('request');
  while (reader.next()) types.push(reader.type);
  return types;
}

describe('listFlows', () => {
  const ports = (conntrack: ConntrackConnection, query = {}) => {
    const seen: number[] = [];
    conntrack.listFlows({ family: 'IPv4', ...query }, (flow) => seen.push(flow.originalDirection.sourcePort));
    return seen;
  };

  test('asks the kernel to filter', () => {
    const asked: number[][] = [];
    const { conntrack } = connect((message) => {
      asked.push(attributeTypes(message));
      expect(message.type).toBe(CT_GET);
      expect(message.flags & NLM_F_DUMP).toBe(NLM_F_DUMP);
      expect(message.bytes[message.start + MESSAGE_HEADER]).toBe(2);
      return { messages: [] };
    });
    ports(conntrack);
    ports(conntrack, { protocol: 17 });
    ports(conntrack, { protocol: 6, status: { value: 0, mask: 2 } });
    expect(asked).toEqual([
      [],
      [CTA_TUPLE_ORIG, CTA_FILTER],
      [CTA_TUPLE_ORIG, CTA_FILTER, CTA_STATUS, CTA_STATUS_MASK],
    ]);
  });

  test('filters itself what an older kernel lets through', () => {
    const { conntrack } = connect(() => ({ messages: [entry(1), entry(2, 6), entry(3)] }));
    expect(ports(conntrack, { protocol: 17 })).toEqual([1, 3]);
    expect(ports(conntrack, { family: 'IPv6' })).toEqual([]);
    expect(ports(conntrack, { status: { value: 2, mask: 2 } })).toEqual([]);
  });

  test.each([22, 95])('does without when the kernel refuses the filter with errno %i', async (errno) => {
    let refused = 0;
    const { conntrack } = connect((message) => {
      if (attributeTypes(message).length === 0) return { messages: [entry(1), entry(2, 6)] };
      refused++;
      return { errno };
    });
    expect(ports(conntrack, { protocol: 17 })).toEqual([1]);
    const seen: number[] = [];
    await conntrack.listFlowsInBackground({ family: 'IPv4', protocol: 6 }, (flow) =>
      seen.push(flow.original.sourcePort),
    );
    expect(seen).toEqual([2]);
    expect(refused).toBe(1);
  });

  test('other refusals are errors', () => {
    const { conntrack } = connect(() => ({ errno: 1 }));
    expect(() => ports(conntrack)).toThrow('list flows: kernel answered EPERM');
  });
});

describe('deleteFlows', () => {
  test('sends the tuple, zone and id of each flow, without asking for acknowledgements', () => {
    const { socket, conntrack } = connect(() => undefined);
    const deletions = new FlowDeletions();
    deletions.add(flowView({ ...flowOf(7, 17), zone: 5, id: 0xcafe }));
    deletions.add(flowBetween('[fd00::9]:999', '[fd00::10]:53', '[fd01::1]:53'));
    deletions.addTuple(flowOf(9, 17).original);
    const families: number[] = [];
    const types: number[][] = [];
    const check = connect((message) => {
      expect(message.type).toBe(CT_DELETE);
      expect(message.flags & NLM_F_ACK).toBe(0);
      families.push(message.bytes[message.start + MESSAGE_HEADER]!);
      types.push(attributeTypes(message));
      return undefined;
    });
    expect(check.conntrack.deleteFlows(deletions)).toEqual({ deleted: 3, gone: 0, rejections: [] });
    expect(conntrack.deleteFlows(deletions).deleted).toBe(3);
    expect(socket.sent).toHaveLength(1);
    expect(families).toEqual([2, 10, 2]);
    expect(types).toEqual([[CTA_TUPLE_ORIG, CTA_ZONE, CTA_ID], [CTA_TUPLE_ORIG], [CTA_TUPLE_ORIG]]);
  });

  test('a flow that is gone is no failure; anything else is reported', () => {
    let index = 0;
    const { conntrack } = connect(() => [{ errno: 2 }, undefined, { errno: 1 }][index++ % 3]);
    const deletions = new FlowDeletions();
    for (let port = 1; port <= 3; port++) deletions.add(flowView(flowOf(port, 17)));
    expect(conntrack.deleteFlows(deletions)).toMatchObject({
      deleted: 1,
      gone: 1,
      rejections: [{ errnoName: 'EPERM' }],
    });
  });

  test('thousands go in a few datagrams, each message with a number of its own', () => {
    const sequences = new Set<number>();
    const { socket, conntrack } = connect((message) => {
      sequences.add(message.sequence);
      return { errno: 2 };
    });
    const deletions = new FlowDeletions();
    for (let port = 1; port <= 5000; port++) deletions.add(flowView(flowOf(port, 17)));
    expect(conntrack.deleteFlows(deletions)).toEqual({ deleted: 0, gone: 5000, rejections: [] });
    expect(socket.sent).toHaveLength(3);
    expect(sequences.size).toBe(5000);
    // The same deletions may be sent again.
    expect(conntrack.deleteFlows(deletions).gone).toBe(5000);
  });
});

describe('deleteFlowsThatAreStill', () => {
  const deletionsOf = (count: number) => {
    const deletions = new FlowDeletions();
    for (let port = 1; port <= count; port++) deletions.add(flowView({ ...flowOf(port, 6), id: port }));
    return deletions;
  };
  const portOf = (message: NetlinkMessage) => {
    // The tuple's last attribute is the destination port, behind the source port.
    const at = message.start + MESSAGE_HEADER + 4 + 4 + 20 + 4 + 8;
    return message.bytes.readUInt16BE(at + 4);
  };

  test('only those go that a second look finds unchanged', async () => {
    const deleted: number[] = [];
    const { conntrack } = connect((message) => {
      const port = portOf(message);
      if (message.type === CT_DELETE) {
        deleted.push(port);
        return port === 4 ? { errno: 2 } : undefined;
      }
      expect(message.type).toBe(CT_GET);
      expect(message.flags & NLM_F_DUMP).toBe(0);
      if (port === 2) return { errno: 2 };
      if (port === 6) return { errno: 1 };
      return { messages: [entry(port, 6)] };
    });
    const result = await conntrack.deleteFlowsThatAreStill(
      deletionsOf(6),
      (flow) => flow.originalDirection.sourcePort !== 3,
    );
    expect(result).toEqual({
      deleted: 2,
      gone: 2,
      kept: 1,
      rejections: [expect.objectContaining({ errnoName: 'EPERM' })],
    });
    expect(deleted).toEqual([1, 4, 5]);
  });

  test('few are looked at at a time', async () => {
    const { conntrack, socket } = connect((message) =>
      message.type === CT_DELETE ? undefined : { messages: [entry(portOf(message), 6)] },
    );
    expect(await conntrack.deleteFlowsThatAreStill(deletionsOf(3000), () => true)).toMatchObject({
      deleted: 3000,
      kept: 0,
    });
    expect(socket.sent.length).toBeGreaterThan(2 * 11);
    for (const datagram of socket.sent) expect(datagram.length).toBeLessThan(256 * 100);
  });
});

test('creating flows stops at the first refusal', () => {
  const { conntrack } = connect(() => ({ errno: 17 }));
  expect(() => conntrack.createFlows([flowOf(1, 17)])).toThrow('create flows: kernel answered EEXIST');
});
