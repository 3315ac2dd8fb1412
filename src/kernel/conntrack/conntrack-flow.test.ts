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

test('a message that is cut off anywhere is an error, or at least no flow', () => {
  for (let length = 21; length < recorded.length; length++) {
    const frame = Buffer.from(recorded.subarray(0, length));
    frame.writeUInt32LE(length, 0);
    let flow: ConntrackFlow | undefined;
    try {
      flow = read(frame);
    } catch (error) {
      expect(error).toMatchObject({ detail: { code: 'NETLINK_ATTRIBUTE_SHORT' } });
      continue;
    }
    // A cut between two attributes cannot be seen; what is there must still be whole.
    if (flow !== undefined) expect(flow.reply.destinationPort).toBe(40_000);
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
