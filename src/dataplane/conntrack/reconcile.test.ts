import { describe, expect, test, vi } from 'vitest';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { encodeNewFlow, type NewFlow } from '../../kernel/conntrack/conntrack-message.ts';
import { type NetlinkMessage, NLM_F_DUMP } from '../../kernel/netlink/message.ts';
import { NetlinkConnection } from '../../kernel/netlink/netlink-connection.ts';
import {
  type FakeAnswer,
  type FakeMessage,
  FakeNetlinkSocket,
} from '../../kernel/netlink/testing/fake-netlink-socket.ts';
import { FlowFrontends } from './flow-frontends.ts';
import { reconcileConntrack } from './reconcile.ts';

const CT_GET = 0x101;

const entry = (sourcePort: number, replySource: string, more: Partial<NewFlow> = {}): FakeMessage => ({
  type: 0x100,
  body: (writer) => {
    writer.bytes[writer.reserve(4)] = 2;
    const [client, vip] = ['10.0.0.1', '10.96.0.10'];
    const protocol = more.connectionState === undefined ? 17 : 6;
    encodeNewFlow(writer, {
      original: { protocol, source: client, sourcePort, destination: vip, destinationPort: 53 },
      reply: {
        protocol,
        source: replySource,
        sourcePort: 5353,
        destination: client,
        destinationPort: sourcePort,
      },
      timeoutSeconds: 30,
      ...more,
    });
  },
});

const datagrams = new FlowFrontends({
  family: 'IPv4',
  servicePorts: [
    {
      protocol: 'UDP',
      frontends: [{ ip: '10.96.0.10', port: 53 }],
      endpoints: [{ ip: '10.244.0.1', port: 5353 }],
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
  expect(await reconcileConntrack(connection, 'datagrams', datagrams, new FakeClock())).toEqual({
    examined: 3,
    deleted: 1,
    gone: 1,
    answered: 0,
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
  const result = await reconcileConntrack(connection, 'datagrams', datagrams, new FakeClock());
  expect(listings).toBe(5);
  expect(result).toMatchObject({ examined: 1, deleted: 1 });
  expect(socket.sent).toHaveLength(6);
});

test('nothing is deleted by rules that are no longer those in the kernel', async () => {
  const { connection, socket } = connect(() => ({ messages: [entry(1, '10.244.0.2')] }));
  const result = await reconcileConntrack(connection, 'datagrams', datagrams, new FakeClock(), () => true);
  expect(result).toMatchObject({ examined: 1, deleted: 0, outdated: true });
  expect(socket.sent).toHaveLength(1);
});

test('without frontends the table is not even listed', async () => {
  const { connection, socket } = connect(() => undefined);
  const none = new FlowFrontends({ family: 'IPv4', servicePorts: [] });
  expect(await reconcileConntrack(connection, 'datagrams', none, new FakeClock())).toMatchObject({
    examined: 0,
    deleted: 0,
  });
  expect(socket.sent).toEqual([]);
});

test('a table that cannot be listed is an error', async () => {
  const { connection } = connect(() => ({ errno: 1 }));
  await expect(reconcileConntrack(connection, 'datagrams', datagrams, new FakeClock())).rejects.toThrow(
    'EPERM',
  );
});

describe('connections', () => {
  const connections = new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        protocol: 'TCP',
        frontends: [{ ip: '10.96.0.10', port: 53 }],
        endpoints: [{ ip: '10.244.0.1', port: 5353 }],
      },
    ],
  });
  const SYN_SENT = { connectionState: 1, status: 8 };

  test('have time to be answered, and are looked at again before they are deleted', async () => {
    const seen: string[] = [];
    let isAnswered = false;
    const { connection } = connect((message) => {
      if (message.type !== CT_GET) {
        seen.push('delete');
        return undefined;
      }
      const isDump = (message.flags & NLM_F_DUMP) === NLM_F_DUMP;
      seen.push(isDump ? 'list' : 'look');
      if (isDump) return { messages: [entry(1, '10.244.0.1', SYN_SENT), entry(2, '10.244.0.2', SYN_SENT)] };
      return {
        messages: [entry(2, '10.244.0.2', isAnswered ? { connectionState: 2, status: 10 } : SYN_SENT)],
      };
    });
    const clock = new FakeClock();
    const pass = async () => {
      const result = reconcileConntrack(connection, 'connections', connections, clock);
      await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 20_000 });
      await clock.advance(150);
      expect(seen).toEqual(['list']);
      await clock.advance(100);
      return result;
    };
    expect(await pass()).toMatchObject({ examined: 2, deleted: 1, answered: 0, durationSeconds: 0 });
    expect(seen.splice(0)).toEqual(['list', 'look', 'delete']);
    isAnswered = true;
    expect(await pass()).toMatchObject({ examined: 2, deleted: 0, answered: 1 });
    expect(seen).toEqual(['list', 'look']);
  });

  test('without a stale one nobody waits', async () => {
    const { connection } = connect(() => ({ messages: [entry(1, '10.244.0.1', SYN_SENT)] }));
    const clock = new FakeClock();
    expect(await reconcileConntrack(connection, 'connections', connections, clock)).toMatchObject({
      examined: 1,
      deleted: 0,
    });
    expect(clock.pending).toBe(0);
  });
});
