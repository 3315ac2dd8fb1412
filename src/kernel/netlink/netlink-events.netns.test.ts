import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { beginMessage, endMessage, NLM_F_ACK, NLM_F_REQUEST } from './message.ts';
import { NetlinkConnection } from './netlink-connection.ts';
import { watchNetlinkEvents } from './netlink-events.ts';
import { NETLINK_NETFILTER, NETLINK_ROUTE, type NetlinkSocket, openNetlinkSocket } from './netlink-socket.ts';

const RTNLGRP_LINK = 1;
const NFNLGRP_NFTABLES = 7;
const RTM_NEWLINK = 16;
const RTM_SETLINK = 19;

/** More than any machine needs; most waits take milliseconds. */
const SOON = { timeout: 20_000 };

let namespace: Namespace;

beforeAll(() => {
  namespace = Namespace.create('flf-events');
  namespace.run('ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
});

afterAll(() => namespace?.delete());

function watched(socket: NetlinkSocket) {
  const types: number[] = [];
  const lost = vi.fn();
  const errors: unknown[] = [];
  const watch = watchNetlinkEvents(socket, {
    onMessage: (message) => types.push(message.type),
    onOverrun: lost,
    onError: (error) => errors.push(error),
  });
  return { types, lost, errors, watch };
}

test('events of two sockets arrive by themselves, also while a promise is awaited', async () => {
  const route = namespace.inside(() => openNetlinkSocket(NETLINK_ROUTE));
  const netfilter = namespace.inside(() => openNetlinkSocket(NETLINK_NETFILTER));
  route.joinGroup(RTNLGRP_LINK);
  netfilter.joinGroup(NFNLGRP_NFTABLES);
  const links = watched(route);
  const tables = watched(netfilter);
  const connection = namespace.inside(() => NetlinkConnection.open(NETLINK_ROUTE));

  for (let round = 0; round < 20; round++) {
    const before = links.types.length;
    connection.request({
      op: 'set link',
      type: RTM_SETLINK,
      body: (writer) => {
        writer.reserve(16);
        writer.addString(3, 'v0');
        writer.addU32(4, 1400 + round);
      },
    });
    while (links.types.length === before) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(new Set(links.types)).toEqual(new Set([RTM_NEWLINK]));

  namespace.run('nft', 'add', 'table', 'ip', 'x');
  await vi.waitFor(() => expect(tables.types.length).toBeGreaterThan(0), SOON);
  expect([...links.errors, ...tables.errors]).toEqual([]);

  // A closed watch hears nothing; the socket still works.
  links.watch.close();
  links.types.length = 0;
  namespace.run('ip', 'link', 'set', 'v0', 'mtu', '1300');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(links.types).toEqual([]);
  expect(route.receive('now', 'x')).toBeDefined();
  for (const socket of [route, netfilter]) socket.close();
  connection.close();
});

test('a promise that an event settles is continued at once, not at the next event', async () => {
  const socket = namespace.inside(() => openNetlinkSocket(NETLINK_ROUTE));
  socket.joinGroup(RTNLGRP_LINK);
  const { promise, resolve } = Promise.withResolvers<number>();
  watchNetlinkEvents(socket, {
    onMessage: () => resolve(performance.now()),
    onOverrun() {},
    onError() {},
  });
  namespace.run('ip', 'link', 'set', 'v0', 'mtu', '1200');
  const settled = await promise;
  // No other event comes: what waits for the next one would wait until the test is given up.
  expect(performance.now() - settled).toBeLessThan(10_000);
  socket.close();
});

test('lost events are reported', async () => {
  const socket = namespace.inside(() => openNetlinkSocket(NETLINK_ROUTE, { receiveBuffer: 4096 }));
  socket.joinGroup(RTNLGRP_LINK);
  const { lost, errors } = watched(socket);
  namespace.run('sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ip link set v0 mtu $((1300+i)); done');
  await vi.waitFor(() => expect(lost).toHaveBeenCalled(), SOON);
  expect(errors).toEqual([]);
  socket.close();
});

test('an open watch neither keeps the process alive nor holds up its exit', () => {
  const code = (end: string) => `
    import { execFileSync } from 'node:child_process';
    import { openNetlinkSocket } from '${import.meta.dirname}/netlink-socket.ts';
    import { watchNetlinkEvents } from '${import.meta.dirname}/netlink-events.ts';
    const socket = openNetlinkSocket(0);
    socket.joinGroup(1);
    watchNetlinkEvents(socket, { onMessage() {}, onOverrun() {}, onError() {} });
    ${end}`;
  const run = (end: string): number => {
    try {
      const options = { timeout: 10_000, stdio: 'ignore' } as const;
      execFileSync(process.execPath, ['--input-type=module-typescript', '-e', code(end)], options);
    } catch (error) {
      return (error as { status: number }).status;
    }
    return 0;
  };
  expect(run('')).toBe(0);
  // With an event pending while Node takes itself down.
  const event = 'execFileSync("ip", ["link", "set", "v0", "mtu", "1250"]);';
  expect(namespace.inside(() => run(event))).toBe(0);
  expect(namespace.inside(() => run(`${event} process.exit(7);`))).toBe(7);
  expect(run('setTimeout(() => process.exit(7), 20);')).toBe(7);
  expect(run('setTimeout(() => { throw new Error("x"); }, 20);')).toBe(1);
});

test('a batch of tens of megabytes goes out in one datagram', () => {
  const connection = namespace.inside(() => NetlinkConnection.open(NETLINK_ROUTE));
  const writer = new AttributeWriter(1 << 20);
  const count = 400;
  const firstSequence = connection.reserveSequences(count);
  for (let i = 0; i < count; i++) {
    const header = { type: RTM_SETLINK, flags: NLM_F_REQUEST | NLM_F_ACK, sequence: firstSequence + i };
    const token = beginMessage(writer, header);
    writer.reserve(16);
    writer.addString(3, i === 7 ? 'v7' : 'v0');
    // Ballast: an attribute of no known type.
    writer.addBytes(0x3ff0, Buffer.alloc(60_000));
    endMessage(writer, token);
  }
  const datagram = writer.finish();
  expect(datagram.length).toBeGreaterThan(20 << 20);
  const result = connection.sendBatch(datagram, { op: 'set links', firstSequence, count });
  expect(result.acknowledged + result.rejections.length).toBe(count);
  expect(result.rejections.find(({ sequence }) => sequence === firstSequence + 7)).toMatchObject({
    errnoName: 'ENODEV',
  });
  connection.close();
});
