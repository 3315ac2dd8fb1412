import { describe, expect, test } from 'vitest';
import { AttributeWriter } from './attribute-writer.ts';
import { beginMessage, endMessage, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_ERROR } from './message.ts';
import { NetlinkConnection } from './netlink-connection.ts';
import { errnoOf, isBusy, isExists, isNotFound, isNotPermitted, NetlinkError } from './netlink-error.ts';
import { type FakeAnswer, type FakeMessage, FakeNetlinkSocket } from './testing/fake-netlink-socket.ts';

const object = (value: number): FakeMessage => ({ type: 0x20, body: (writer) => writer.addU32(1, value) });
const get = { op: 'get thing', type: 0x20, body: (writer: AttributeWriter) => writer.addString(1, 'x') };

function connect(answer: () => FakeAnswer) {
  const socket = new FakeNetlinkSocket(answer);
  return { socket, connection: new NetlinkConnection(socket) };
}

function detailOf(work: () => unknown) {
  try {
    work();
  } catch (error) {
    if (error instanceof NetlinkError) return error.detail;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('request', () => {
  test('carries REQUEST and ACK, a fresh sequence number and the body', () => {
    const { socket, connection } = connect(() => undefined);
    connection.request(get);
    connection.request(get);
    expect(socket.sent.map((frame) => frame.readUInt16LE(6))).toEqual([
      NLM_F_REQUEST | NLM_F_ACK,
      NLM_F_REQUEST | NLM_F_ACK,
    ]);
    expect(socket.sent.map((frame) => frame.readUInt32LE(8))).toEqual([1, 2]);
    expect(socket.sent[0]!.readUInt32LE(0)).toBe(socket.sent[0]!.length);
    expect(socket.sent[0]!.toString('latin1', 20)).toBe('x\0\0\0');
  });

  test('hands over what comes before the acknowledgement', () => {
    const { connection } = connect(() => ({ messages: [object(7)] }));
    const seen: number[] = [];
    connection.request(get, (message) => {
      const reader = message.attributes('thing', 0);
      reader.next();
      seen.push(reader.u32());
    });
    expect(seen).toEqual([7]);
  });

  test('a refusal names the operation, the errno, and what the kernel said', () => {
    const { connection } = connect(() => ({ errno: 16, message: 'still in use', offset: 20 }));
    expect(detailOf(() => connection.request(get))).toEqual({
      code: 'NETLINK_KERNEL_ERROR',
      op: 'get thing',
      sequence: 1,
      errno: 16,
      errnoName: 'EBUSY',
      message: 'still in use',
      offset: 20,
    });
    expect(() => connection.request(get)).toThrow(
      'get thing: kernel answered EBUSY: still in use (at byte 20)',
    );
  });

  test('predicates tell the usual refusals apart', () => {
    const refused = (errno: number): unknown => {
      try {
        connect(() => ({ errno })).connection.request(get);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    const table = [1, 2, 13, 16, 17, 19].map((errno) => {
      const error = refused(errno);
      return [errno, isNotPermitted(error), isNotFound(error), isBusy(error), isExists(error)];
    });
    expect(table).toEqual([
      [1, true, false, false, false],
      [2, false, true, false, false],
      [13, true, false, false, false],
      [16, false, false, true, false],
      [17, false, false, false, true],
      [19, false, true, false, false],
    ]);
    expect(errnoOf(new Error('other'))).toBeUndefined();
  });

  test('silence ends in a timeout instead of a hang', () => {
    const { connection } = connect(() => 'silence');
    expect(detailOf(() => connection.request(get)).code).toBe('NETLINK_TIMEOUT');
  });

  test('answers to an exchange that was given up are skipped', () => {
    let answer: FakeAnswer = 'silence';
    const { socket, connection } = connect(() => answer);
    detailOf(() => connection.request(get));
    socket.pushEvent(object(1));
    answer = { errno: 2 };
    expect(detailOf(() => connection.request(get))).toMatchObject({ sequence: 2, errno: 2 });
  });

  test('a garbled answer is a typed error and does not spoil the next exchange', () => {
    let answer: FakeAnswer = 'silence';
    const { socket, connection } = connect(() => answer);
    socket.push(Buffer.from('0c0000000200000001000000', 'hex'));
    expect(() => connection.request(get)).toThrow('cannot decode message: 16 bytes needed, 12 left');
    socket.push(Buffer.from('ffff000002000000', 'hex'));
    answer = undefined;
    connection.request(get);
  });

  test('an acknowledgement that is too short for a status is malformed', () => {
    const { socket, connection } = connect(() => 'silence');
    const frame = Buffer.alloc(16);
    frame.writeUInt32LE(16, 0);
    frame.writeUInt16LE(NLMSG_ERROR, 4);
    frame.writeUInt32LE(1, 8);
    socket.push(frame);
    expect(detailOf(() => connection.request(get)).code).toBe('NETLINK_MALFORMED');
  });

  test('cannot be used from inside its own callback', () => {
    const { connection } = connect(() => ({ messages: [object(1)] }));
    expect(() => connection.dump(get, () => connection.request(get))).toThrow(
      'get thing was started inside get thing',
    );
    connection.request(get);
  });
});

describe('dump', () => {
  const values = (connection: NetlinkConnection, options = {}) => {
    let seen: number[] = [];
    connection.dump(
      get,
      (message) => {
        const reader = message.attributes('thing', 0);
        reader.next();
        seen.push(reader.u32());
      },
      { onRestart: () => (seen = []), ...options },
    );
    return seen;
  };

  test('delivers every part of the answer', () => {
    const { socket, connection } = connect(() => ({ messages: [object(1), object(2), object(3)] }));
    expect(values(connection)).toEqual([1, 2, 3]);
    expect(socket.sent[0]!.readUInt16LE(6)).toBe(NLM_F_REQUEST | NLM_F_DUMP);
  });

  test('starts again when the kernel marks the answer as interrupted', () => {
    let round = 0;
    const { connection } = connect(() => {
      round++;
      return { messages: [object(round)], interrupted: round < 3 };
    });
    expect(values(connection)).toEqual([3]);
  });

  test('gives up after the last attempt, or takes what it has when told to', () => {
    const { connection, socket } = connect(() => ({ messages: [object(1)], interrupted: true }));
    expect(detailOf(() => values(connection))).toEqual({
      code: 'NETLINK_DUMP_INTERRUPTED',
      op: 'get thing',
      attempts: 5,
    });
    expect(socket.sent).toHaveLength(5);
    expect(values(connection, { attempts: 2, onInterrupted: 'accept' })).toEqual([1]);
    expect(socket.sent).toHaveLength(7);
  });

  test('an error at the end of a dump counts', () => {
    const { connection } = connect(() => ({ errno: 1 }));
    expect(detailOf(() => values(connection))).toMatchObject({ code: 'NETLINK_KERNEL_ERROR', errno: 1 });
  });

  test('a callback that throws ends the dump, and the connection is fit for the next one', () => {
    const { connection } = connect(() => ({ messages: [object(1), object(2)] }));
    let calls = 0;
    expect(() =>
      connection.dump(get, () => {
        calls++;
        throw new RangeError('enough');
      }),
    ).toThrow(RangeError);
    expect(calls).toBe(1);
    expect(values(connection)).toEqual([1, 2]);
  });

  test('in the background: the event loop runs in between, and other use is refused meanwhile', async () => {
    const { connection } = connect(() => ({ messages: Array.from({ length: 50 }, (_, i) => object(i)) }));
    let seen = 0;
    const immediates: number[] = [];
    const done = connection.dumpInBackground(get, () => seen++);
    expect(() => connection.request(get)).toThrow('started inside');
    const tick = (): void => {
      immediates.push(seen);
      if (seen < 50) setImmediate(tick);
    };
    setImmediate(tick);
    await done;
    expect(seen).toBe(50);
    expect(new Set(immediates).size).toBeGreaterThan(10);
    connection.request(get);
  });

  test('in the background: failures reject, interruptions start again', async () => {
    let round = 0;
    const { connection } = connect(() => ({ messages: [object(++round)], interrupted: round < 2 }));
    let restarts = 0;
    await connection.dumpInBackground(get, () => {}, { onRestart: () => restarts++ });
    expect(restarts).toBe(1);
    const failing = connect(() => ({ errno: 95 })).connection;
    await expect(failing.dumpInBackground(get, () => {})).rejects.toThrow('EOPNOTSUPP');
  });
});

describe('sendBatch', () => {
  function batchOf(connection: NetlinkConnection, count: number, flags = NLM_F_REQUEST) {
    const writer = new AttributeWriter();
    const firstSequence = connection.reserveSequences(count);
    for (let i = 0; i < count; i++) {
      const token = beginMessage(writer, { type: 0x30, flags, sequence: firstSequence + i });
      endMessage(writer, token);
    }
    return { datagram: writer.finish(), firstSequence };
  }

  test('returns the refused messages in order and counts acknowledgements', () => {
    let index = 0;
    const { socket, connection } = connect(() => {
      index++;
      return index % 2 === 0 ? { errno: 2, message: `no ${index}` } : undefined;
    });
    const { datagram, firstSequence } = batchOf(connection, 4, NLM_F_REQUEST | NLM_F_ACK);
    const result = connection.sendBatch(datagram, { op: 'delete things', firstSequence, count: 4 });
    expect(socket.sent).toHaveLength(1);
    expect(result).toEqual({
      rejections: [
        { sequence: firstSequence + 1, errno: 2, errnoName: 'ENOENT', message: 'no 2' },
        { sequence: firstSequence + 3, errno: 2, errnoName: 'ENOENT', message: 'no 4' },
      ],
      acknowledged: 2,
      overrun: false,
    });
  });

  test('no answer means that all was done; a full receive queue is reported', () => {
    const { socket, connection } = connect(() => undefined);
    const { datagram, firstSequence } = batchOf(connection, 3);
    expect(connection.sendBatch(datagram, { op: 'x', firstSequence, count: 3 }).rejections).toEqual([]);
    const lost = new NetlinkError({ code: 'NETLINK_OVERRUN', op: 'x' }, 'full');
    socket.pushError(lost);
    const second = batchOf(connection, 1);
    const result = connection.sendBatch(second.datagram, {
      op: 'x',
      firstSequence: second.firstSequence,
      count: 1,
    });
    expect(result).toEqual({ rejections: [], acknowledged: 0, overrun: true });
  });

  test('in the background: the same, and the connection is taken meanwhile', async () => {
    const { connection } = connect(() => ({ errno: 17 }));
    const { datagram, firstSequence } = batchOf(connection, 2);
    const sent = connection.sendBatchInBackground(datagram, { op: 'add things', firstSequence, count: 2 });
    expect(() => connection.request(get)).toThrow('get thing was started inside add things');
    expect((await sent).rejections.map((rejection) => rejection.errnoName)).toEqual(['EEXIST', 'EEXIST']);
  });

  test('sequence numbers stay below 2^31 and are never 0', () => {
    const { connection } = connect(() => undefined);
    connection.reserveSequences(0x7fff_fff0);
    expect(connection.reserveSequences(100)).toBe(1);
    expect(connection.reserveSequences(1)).toBe(101);
  });
});
