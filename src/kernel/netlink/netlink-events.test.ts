import { expect, test, vi } from 'vitest';
import { NetlinkError } from './netlink-error.ts';
import { watchNetlinkEvents } from './netlink-events.ts';
import { type FakeMessage, FakeNetlinkSocket } from './testing/fake-netlink-socket.ts';

const event = (type: number): FakeMessage => ({ type, body: () => {} });

function watched() {
  const socket = new FakeNetlinkSocket();
  const log: string[] = [];
  const watch = watchNetlinkEvents(socket, {
    onMessage(message) {
      log.push(`message ${message.type}`);
      if (message.type === 99) throw new Error('listener failed');
      if (message.type === 50) watch.close();
    },
    onOverrun: () => log.push('overrun'),
    onDrained: () => log.push('drained'),
    onError: (error) => log.push(`error: ${(error as Error).message}`),
  });
  return { socket, log, watch };
}

test('messages are delivered in order, then the end of the queue', () => {
  const { socket, log } = watched();
  socket.pushEvent(event(20));
  socket.pushEvent(event(21));
  socket.notify();
  expect(log).toEqual(['message 20', 'message 21', 'drained']);
});

test('a full receive buffer is reported and the rest still delivered', () => {
  const { socket, log } = watched();
  socket.pushError(new NetlinkError({ code: 'NETLINK_OVERRUN', op: 'x' }, 'full'));
  socket.pushEvent(event(20));
  socket.notify();
  expect(log).toEqual(['overrun', 'message 20', 'drained']);
});

test('a listener that throws does not stop the others', () => {
  const { socket, log } = watched();
  socket.pushEvent(event(99));
  socket.pushEvent(event(20));
  socket.notify();
  expect(log).toEqual(['message 99', 'error: listener failed', 'message 20', 'drained']);
});

test('a cut-off datagram counts as lost events', () => {
  const { socket, log } = watched();
  socket.push(Buffer.from('20000000100000000000000000000000', 'hex'));
  socket.notify();
  expect(log).toEqual(['error: cannot decode message: 32 bytes needed, 16 left', 'overrun', 'drained']);
});

test('a failing socket ends the subscription', () => {
  const { socket, log } = watched();
  const detail = {
    code: 'NETLINK_SYSCALL_FAILED',
    op: 'x',
    syscall: 'recvfrom',
    errno: 9,
    errnoName: 'EBADF',
  } as const;
  socket.pushError(new NetlinkError(detail, 'bad descriptor'));
  socket.pushEvent(event(20));
  socket.notify();
  socket.notify();
  expect(log).toEqual(['error: bad descriptor']);
});

test('closing inside a callback stops at once', () => {
  const { socket, log } = watched();
  socket.pushEvent(event(50));
  socket.pushEvent(event(51));
  socket.notify();
  socket.notify();
  expect(log).toEqual(['message 50']);
});

test('a long queue is taken in turns', async () => {
  const { socket, log } = watched();
  for (let i = 0; i < 128; i++) socket.pushEvent(event(20));
  socket.notify();
  expect(log).toHaveLength(64);
  await vi.waitFor(() => expect(log.at(-1)).toBe('drained'), { timeout: 10_000 });
  expect(log).toHaveLength(129);
});
