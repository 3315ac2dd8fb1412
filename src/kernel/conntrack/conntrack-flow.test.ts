import { describe, expect, test } from 'vitest';
import { readMessages } from '../netlink/message.ts';
import { ConntrackFlow } from './conntrack-flow.ts';
import { flowMatches } from './flow-matches.ts';
import { flowBetween, flowView } from './testing/flow-view.ts';

/**
 * Recorded from kernel 6.18: a listing of one flow that `conntrack -L -o id` printed as
 * `udp 17 29 src=10.9.0.2 dst=10.96.0.10 sport=40000 dport=53 src=10.9.0.3 dst=10.9.0.2 sport=5353 dport=40000
 * mark=16384 zone=5 use=1 id=1312804513`.
 */
const recorded = Buffer.from(
  [
    'ac0000000001220001000000b755000002000000', // nlmsghdr, nfgenmsg
    '34000180', // CTA_TUPLE_ORIG
    '14000180080001000a090002080002000a60000a', // CTA_TUPLE_IP
    '1c000280050001001100000006000200', // CTA_TUPLE_PROTO: UDP,
    '9c4000000600030000350000', // ports
    '34000280', // CTA_TUPLE_REPLY
    '14000180080001000a090003080002000a090002',
    '1c000280050001001100000006000200',
    '14e90000060003009c400000',
    '0600120000050000', // CTA_ZONE
    '08000300000001aa', // CTA_STATUS
    '0800080000004000', // CTA_MARK
    '08000c004e3fcea1', // CTA_ID
    '08000b0000000001', // CTA_USE
    '080007000000001d', // CTA_TIMEOUT
  ].join(''),
  'hex',
);

function read(frame: Buffer): ConntrackFlow | undefined {
  const flow = new ConntrackFlow();
  for (const message of readMessages(frame)) if (flow.read(message)) return flow;
  return undefined;
}

test('reads what the kernel sends', () => {
  const flow = read(recorded)!;
  expect(flow.original).toEqual({
    protocol: 17,
    source: '10.9.0.2',
    sourcePort: 40_000,
    destination: '10.96.0.10',
    destinationPort: 53,
  });
  expect(flow.reply).toEqual({
    protocol: 17,
    source: '10.9.0.3',
    sourcePort: 5353,
    destination: '10.9.0.2',
    destinationPort: 40_000,
  });
  const { family, protocol, status, timeoutSeconds, mark, id, zone, isDestinationTranslated } = flow;
  expect({ family, protocol, status, timeoutSeconds, mark, id, zone, isDestinationTranslated }).toEqual({
    family: 'IPv4',
    protocol: 17,
    status: 0x1aa,
    timeoutSeconds: 29,
    mark: 0x4000,
    id: 1_312_804_513,
    zone: 5,
    isDestinationTranslated: true,
  });
});

/** An INIT that nobody answered, recorded from kernel 6.18, where `conntrack -L` printed it as CLOSED and UNREPLIED. */
const recordedInit = Buffer.from(
  'c4000000000122000300000018150000020000003400018014000180080001000af40909080002000a60000a1c00028005000100840000000600' +
    '0200960c000006000300005000003400028014000180080001000a60000a080002000af409091c0002800500010084000000060002000050' +
    '000006000300960c00000800030000000188080008000000000008000c00eed4948108000b00000000030800070000000009200004801c00' +
    '0380050001000100000008000200000000000800030012345678',
  'hex',
);

test('the state of a connection is read, and forgotten with the next flow', () => {
  const flow = read(recordedInit)!;
  expect(flow).toMatchObject({ protocol: 132, connectionState: 1, isOpening: true });
  for (const message of readMessages(recorded)) flow.read(message);
  expect(flow).toMatchObject({ protocol: 17, connectionState: 0, isOpening: false });
});

test.each([
  ['a SYN', 6, 1, 0, true],
  ['a SYN that was answered', 6, 1, 2, false],
  ['an established connection', 6, 3, 2, false],
  ['one that was come upon halfway', 6, 3, 0, false],
  ['TCP of unknown state', 6, 0, 0, false],
  ['an INIT', 132, 1, 0, true],
  ['an INIT, waiting for the cookie', 132, 2, 0, true],
  ['an INIT that was answered', 132, 2, 2, false],
  ['an association come upon halfway', 132, 4, 0, false],
  ['a heartbeat', 132, 8, 0, false],
  ['UDP', 17, undefined, 0, false],
] as const)(
  '%s: protocol %i, state %j, status %i is opening: %s',
  (_, protocol, connectionState, status, is) => {
    const state = connectionState === undefined ? {} : { connectionState };
    const flow = flowBetween('10.0.0.1:1', '10.96.0.1:2', '10.96.0.1:2', protocol, { status, ...state });
    expect(flow.isOpening).toBe(is);
  },
);

test('a second flow through the same view leaves nothing of the first', () => {
  const flow = read(recorded)!;
  const other = flowView({
    original: {
      protocol: 1,
      source: '10.0.0.1',
      sourcePort: 0,
      destination: '10.0.0.2',
      destinationPort: 0,
    },
    reply: { protocol: 1, source: '10.0.0.2', sourcePort: 0, destination: '10.0.0.1', destinationPort: 0 },
  });
  for (const message of readMessages(other.bytes)) expect(flow.read(message)).toBe(true);
  expect(flow).toMatchObject({ mark: 0, id: 0, zone: 0, status: 0, isDestinationTranslated: false });
  expect(flow.original.sourcePort).toBe(0);
});

test('other families and entries without addresses are passed over', () => {
  const arp = Buffer.from(recorded);
  arp[16] = 3;
  expect(read(arp)).toBeUndefined();
  const bare = Buffer.from(recorded.subarray(0, 20));
  bare.writeUInt32LE(20, 0);
  expect(read(bare)).toBeUndefined();
});

test.each([
  ['UDP', recorded, 40_000],
  ['SCTP', recordedInit, 38_412],
])('a message of %s that is cut off anywhere is an error, or at least no flow', (_, whole, clientPort) => {
  for (let length = 21; length < whole.length; length++) {
    const frame = Buffer.from(whole.subarray(0, length));
    frame.writeUInt32LE(length, 0);
    let flow: ConntrackFlow | undefined;
    try {
      flow = read(frame);
    } catch (error) {
      expect(error).toMatchObject({ detail: { code: 'NETLINK_ATTRIBUTE_SHORT' } });
      continue;
    }
    // A cut between two attributes cannot be seen; what is there must still be whole.
    if (flow !== undefined) expect(flow.reply.destinationPort).toBe(clientPort);
  }
});

describe('flowMatches', () => {
  const flow = flowBetween('[fd00::9]:999', '[fd00::10]:53', '[fd01::1]:5353');
  test.each([
    [{}, true],
    [{ protocol: 17, originalDestination: 'fd00::10', originalDestinationPort: 53 }, true],
    [{ replySource: 'fd01::1', replySourcePort: 5353 }, true],
    [{ originalSource: 'fd00::9', originalSourcePort: 999 }, true],
    [{ protocol: 6 }, false],
    [{ originalDestination: 'fd00::11' }, false],
    [{ originalDestination: '10.0.0.1' }, false],
    [{ originalDestinationPort: 54 }, false],
    [{ originalSource: 'fd00::8' }, false],
    [{ originalSourcePort: 998 }, false],
    [{ replySource: 'fd00::10' }, false],
    [{ replySourcePort: 53 }, false],
  ])('%j: %s', (pattern, expected) => {
    expect(flowMatches(pattern)(flow)).toBe(expected);
  });
});
