import { expect, test } from 'vitest';
import { AttributeWriter } from '../netlink/attribute-writer.ts';
import { beginNetfilterMessage, endMessage, readMessages } from '../netlink/message.ts';
import { FakeNetlinkSocket } from '../netlink/testing/fake-netlink-socket.ts';
import { decodeRulesetEvent, type RulesetEvent } from './ruleset-event.ts';
import { watchRuleset } from './watch-ruleset.ts';

const GROUP = 7;

function event(
  command: number,
  attributes: (writer: AttributeWriter) => void,
  portId = 99,
): RulesetEvent | undefined {
  const writer = new AttributeWriter(64);
  const token = beginNetfilterMessage(
    writer,
    { type: (10 << 8) | command, flags: 0, sequence: 0, portId },
    2,
  );
  attributes(writer);
  endMessage(writer, token);
  const [message] = readMessages(writer.finish());
  return decodeRulesetEvent(message!);
}

test.each<[string, number, [number, number?], Partial<RulesetEvent>]>([
  ['new table', 0, [1], { kind: 'new', object: 'table' }],
  ['deleted table', 2, [1], { kind: 'delete', object: 'table' }],
  ['destroyed table', 26, [1], { kind: 'delete', object: 'table' }],
  ['new chain', 3, [1, 3], { kind: 'new', object: 'chain', name: 'x' }],
  ['deleted chain', 5, [1, 3], { kind: 'delete', object: 'chain', name: 'x' }],
  ['new rule', 6, [1, 2], { kind: 'new', object: 'rule', name: 'x' }],
  ['deleted rule', 8, [1, 2], { kind: 'delete', object: 'rule', name: 'x' }],
  ['new set', 9, [1, 2], { kind: 'new', object: 'set', name: 'x' }],
  ['deleted element', 14, [1, 2], { kind: 'delete', object: 'element', name: 'x' }],
  ['new object', 18, [1, 2], { kind: 'new', object: 'other', name: 'x' }],
])('%s', (_, command, [table, name], expected) => {
  const found = event(command, (writer) => {
    writer.addString(table, 'kube-proxy');
    if (name !== undefined) writer.addString(name, 'x');
  });
  expect(found).toEqual({ familyNumber: 2, table: 'kube-proxy', portId: 99, ...expected });
});

test('the end of a transaction says who made it', () => {
  const generation = event(15, (writer) => {
    writer.addU32be(1, 12);
    writer.addU32be(2, 4321);
    writer.addString(3, 'nft');
  });
  expect(generation).toEqual({
    kind: 'generation',
    generation: 12,
    processId: 4321,
    processName: 'nft',
    portId: 99,
  });
});

test('traces and other messages are no events', () => {
  expect(event(17, () => {})).toBeUndefined();
});

test('watching joins the group, pausing leaves it, closing ends it', () => {
  const socket = new FakeNetlinkSocket();
  const events: RulesetEvent[] = [];
  const lost: number[] = [];
  const watch = watchRuleset(socket, {
    onEvent: (found) => events.push(found),
    onLost: () => lost.push(1),
    onError: (error) => {
      throw error;
    },
  });
  expect([...socket.groups]).toEqual([GROUP]);
  socket.pushEvent({
    type: 10 << 8,
    body: (writer) => {
      writer.reserve(4);
      writer.addString(1, 'kube-proxy');
    },
  });
  socket.notify();
  expect(events).toMatchObject([{ kind: 'new', object: 'table', table: 'kube-proxy' }]);
  expect(watch.pause(() => [...socket.groups])).toEqual([]);
  expect([...socket.groups]).toEqual([GROUP]);
  expect(() =>
    watch.pause(() => {
      throw new Error('inside');
    }),
  ).toThrow('inside');
  expect([...socket.groups]).toEqual([GROUP]);
  watch.close();
  watch.close();
  expect([...socket.groups]).toEqual([]);
  expect(watch.pause(() => [...socket.groups])).toEqual([]);
  expect(lost).toEqual([]);
});
