import { expect, test } from 'vitest';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { encodeNewFlow } from '../../kernel/conntrack/conntrack-message.ts';
import type { NetlinkMessage } from '../../kernel/netlink/message.ts';
import { NetlinkConnection } from '../../kernel/netlink/netlink-connection.ts';
import {
  type FakeAnswer,
  type FakeMessage,
  FakeNetlinkSocket,
} from '../../kernel/netlink/testing/fake-netlink-socket.ts';
import { reconcileConntrack } from './reconcile.ts';
import { UdpFrontends } from './stale-flows.ts';

const CT_GET = 0x101;

const entry = (sourcePort: number, replySource: string): FakeMessage => ({
  type: 0x100,
  body: (writer) => {
    writer.bytes[writer.reserve(4)] = 2;
    const [client, vip] = ['10.0.0.1', '10.96.0.10'];
    encodeNewFlow(writer, {
      original: { protocol: 17, source: client, sourcePort, destination: vip, destinationPort: 53 },
      reply: {
        protocol: 17,
        source: replySource,
        sourcePort: 5353,
        destination: client,
        destinationPort: sourcePort,
      },
      timeoutSeconds: 30,
    });
  },
});

const frontends = new UdpFrontends({
  family: 'IPv4',
  servicePorts: [
    {
      frontends: [{ ip: '10.96.0.10', port: 53 }],
      servingEndpoints: [{ ip: '10.244.0.1', port: 5353 }],
    },
  ],
});

function connect(answer: (message: NetlinkMessage) => FakeAnswer) {
  const socket = new FakeNetlinkSocket(answer);
  return { socket, connection: new ConntrackConnection(new NetlinkConnection(socket)) };
}

test('deletes the stale flows of one listing and counts', async () => {
  let deletes = 0;
  const { connection } = connect((message) => {
    if (message.type === CT_GET) {
      return { messages: [entry(1, '10.244.0.1'), entry(2, '10.244.0.2'), entry(3, '10.244.0.2')] };
    }
    deletes++;
    return deletes === 1 ? { errno: 2 } : undefined;
  });
  expect(await reconcileConntrack(connection, frontends, new FakeClock())).toEqual({
    examined: 3,
    deleted: 1,
    gone: 1,
    rejections: [],
    outdated: false,
    durationSeconds: 0,
  });
});

test('an interrupted listing starts from nothing; the fifth one counts as it is', async () => {
  let listings = 0;
  const { connection, socket } = connect((message) => {
    if (message.type !== CT_GET) return undefined;
    listings++;
    return { messages: [entry(listings, '10.244.0.2')], interrupted: true };
  });
  const result = await reconcileConntrack(connection, frontends, new FakeClock());
  expect(listings).toBe(5);
  expect(result).toMatchObject({ examined: 1, deleted: 1 });
  expect(socket.sent).toHaveLength(6);
});

test('nothing is deleted by rules that are no longer those in the kernel', async () => {
  const { connection, socket } = connect(() => ({ messages: [entry(1, '10.244.0.2')] }));
  const result = await reconcileConntrack(connection, frontends, new FakeClock(), () => true);
  expect(result).toMatchObject({ examined: 1, deleted: 0, outdated: true });
  expect(socket.sent).toHaveLength(1);
});

test('without UDP frontends the table is not even listed', async () => {
  const { connection, socket } = connect(() => undefined);
  const none = new UdpFrontends({ family: 'IPv4', servicePorts: [] });
  expect(await reconcileConntrack(connection, none, new FakeClock())).toMatchObject({
    examined: 0,
    deleted: 0,
  });
  expect(socket.sent).toEqual([]);
});

test('a table that cannot be listed is an error', async () => {
  const { connection } = connect(() => ({ errno: 1 }));
  await expect(reconcileConntrack(connection, frontends, new FakeClock())).rejects.toThrow('EPERM');
});
