import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { linuxSyscalls } from './linux-syscalls.ts';

// Loopback datagram sockets: every call but setns can be seen at work without privileges.
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const MSG_TRUNC = 0x20;
const MSG_DONTWAIT = 0x40;
const [EBADF, EAGAIN, EDESTADDRREQ, EINVAL] = [9, 11, 89, 22];

const calls = linuxSyscalls();
const open: number[] = [];

function udpSocket(): { fd: number; port: number } {
  const fd = calls.socket(AF_INET, SOCK_DGRAM, 0);
  open.push(fd);
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.set([127, 0, 0, 1], 4);
  expect(calls.bind(fd, address)).toBe(0);
  expect(calls.getsockname(fd, address)).toBe(16);
  return { fd, port: address.readUInt16BE(2) };
}

/** Sends through Node's own sockets, so that the calls are not only compared with themselves. */
async function sendTo(port: number, text: string): Promise<number> {
  const { createSocket } = await import('node:dgram');
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) =>
    socket.send(text, port, '127.0.0.1', (error) => (error === null ? resolve() : reject(error))),
  );
  const from = socket.address().port;
  socket.close();
  return from;
}

afterEach(() => {
  for (const fd of open.splice(0)) calls.close(fd);
});

test('a datagram arrives with its length and sender', async () => {
  const { fd, port } = udpSocket();
  const sender = Buffer.alloc(16);
  const pool = Buffer.alloc(64, '-');
  expect(calls.recvfrom(fd, pool, MSG_DONTWAIT, sender)).toBe(-EAGAIN);
  const from = await sendTo(port, 'hello');
  // A buffer in the middle of another one: only that part may be written.
  expect(calls.recvfrom(fd, pool.subarray(8, 16), MSG_DONTWAIT, sender)).toBe(5);
  expect(pool.toString('latin1', 6, 18)).toBe('--hello-----');
  expect([sender.readUInt16BE(2), ...sender.subarray(4, 8)]).toEqual([from, 127, 0, 0, 1]);
});

test('with MSG_TRUNC the length is that of the datagram, not of the buffer', async () => {
  const { fd, port } = udpSocket();
  await sendTo(port, 'longer than that');
  expect(calls.recvfrom(fd, Buffer.alloc(4), MSG_TRUNC, Buffer.alloc(16))).toBe(16);
});

test('options are written and read back', () => {
  const { fd } = udpSocket();
  const value = Buffer.alloc(4);
  value.writeUInt32LE(10_000);
  expect(calls.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, value)).toBe(0);
  expect(calls.getsockopt(fd, SOL_SOCKET, SO_RCVBUF, value)).toBe(4);
  expect(value.readUInt32LE(0)).toBe(20_000);
});

test('a filter keeps datagrams out of the queue', async () => {
  const { fd, port } = udpSocket();
  // Of a UDP datagram a filter sees the 8 bytes of its header first. "ret #-1" unless the first byte behind it is "x".
  const program = Buffer.alloc(4 * 8);
  const instructions = [
    [0x30, 0, 0, 8],
    [0x15, 0, 1, 'x'.charCodeAt(0)],
    [0x06, 0, 0, 0],
    [0x06, 0, 0, 0xffff],
  ] as const;
  for (const [i, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    program.writeUInt16LE(code, i * 8);
    program[i * 8 + 2] = ifTrue;
    program[i * 8 + 3] = ifFalse;
    program.writeUInt32LE(value, i * 8 + 4);
  }
  expect(calls.attachFilter(fd, program)).toBe(0);
  for (const text of ['x1', 'a2', 'x3', 'b4']) await sendTo(port, text);
  const receive = () => {
    const buffer = Buffer.alloc(8);
    const length = calls.recvfrom(fd, buffer, MSG_DONTWAIT, Buffer.alloc(16));
    return length < 0 ? length : buffer.toString('latin1', 0, length);
  };
  expect([receive(), receive(), receive()]).toEqual(['a2', 'b4', -EAGAIN]);
  // A program that does not end is none.
  expect(calls.attachFilter(fd, program.subarray(0, 16))).toBe(-EINVAL);
  expect(calls.attachFilter(-1, program)).toBe(-EBADF);
});

test('failures are negated errnos, on this thread and on another', async () => {
  const { fd } = udpSocket();
  expect(calls.close(-1)).toBe(-EBADF);
  expect(calls.setns(0, 0x4000_0000)).toBe(-EINVAL);
  expect(calls.send(fd, Buffer.alloc(1), 0)).toBe(-EDESTADDRREQ);
  expect(await calls.sendInBackground(fd, Buffer.alloc(1), 0)).toBe(-EDESTADDRREQ);
  expect(await calls.recvfromInBackground(fd, Buffer.alloc(8), MSG_DONTWAIT, Buffer.alloc(16))).toBe(-EAGAIN);
});

test('in the background a call waits while the event loop turns', async () => {
  const { fd, port } = udpSocket();
  const buffer = Buffer.alloc(8);
  const received = calls.recvfromInBackground(fd, buffer, 0, Buffer.alloc(16));
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await pause(10);
  expect(turned).toBe(true);
  await sendTo(port, 'late');
  expect(await received).toBe(4);
  expect(buffer.toString('latin1', 0, 4)).toBe('late');
});

test('a watch fires while there is something to read, and never after it was closed', async () => {
  const { fd, port } = udpSocket();
  let fired = 0;
  const read = () => {
    fired++;
    calls.recvfrom(fd, Buffer.alloc(8), MSG_DONTWAIT, Buffer.alloc(16));
  };
  const watch = calls.watchReadable(fd, read);
  await pause(10);
  expect(fired).toBe(0);
  await sendTo(port, 'a');
  await sendTo(port, 'b');
  await pause(20);
  expect(fired).toBe(2);
  watch.close();
  watch.close();
  await sendTo(port, 'c');
  await pause(20);
  expect(fired).toBe(2);
});
