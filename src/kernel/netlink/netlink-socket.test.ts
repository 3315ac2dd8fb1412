import { describe, expect, test } from 'vitest';
import { EAGAIN, EINTR, ENOBUFS, EPERM } from '../native/errno.ts';
import type { ReadableWatcher, Syscalls } from '../native/syscalls.ts';
import { openNetlinkSocket } from './netlink-socket.ts';

/** Scripted system calls: what recvfrom and send return comes from the lists. */
class FakeSyscalls implements Syscalls, ReadableWatcher {
  readonly options: string[] = [];
  readonly receives: (number | { readonly data: Buffer; readonly sender: number })[] = [];
  readonly sends: number[] = [];
  readonly closed: number[] = [];
  watches = 0;
  mayForce = true;
  sendLimit = 212_992;
  bindResult = 0;
  filterResult = 0;
  /** What calls in the background wait for. */
  pause: Promise<void> = Promise.resolve();

  socket(): number {
    return 7;
  }
  bind(): number {
    return this.bindResult;
  }
  getsockname(_fd: number, address: Uint8Array): number {
    Buffer.from(address.buffer, address.byteOffset).writeUInt32LE(1234, 4);
    return 12;
  }
  setsockopt(_fd: number, level: number, option: number, value: Uint8Array): number {
    const number = Buffer.from(value).readUInt32LE(0);
    this.options.push(`${level}/${option}=${number}`);
    if (option === 32 || option === 33) {
      if (!this.mayForce) return -EPERM;
      if (option === 32) this.sendLimit = number * 2;
    }
    return 0;
  }
  attachFilter(_fd: number, program: Uint8Array): number {
    this.options.push(`filter of ${program.length / 8} instructions`);
    return this.filterResult;
  }
  getsockopt(_fd: number, _level: number, _option: number, value: Uint8Array): number {
    Buffer.from(value.buffer, value.byteOffset).writeUInt32LE(this.sendLimit, 0);
    return 4;
  }
  send(_fd: number, data: Uint8Array): number {
    return this.sends.shift() ?? data.length;
  }
  recvfrom(_fd: number, buffer: Uint8Array, _flags: number, sender: Uint8Array): number {
    const next = this.receives.shift() ?? -EAGAIN;
    if (typeof next === 'number') return next;
    buffer.set(next.data.subarray(0, buffer.length));
    Buffer.from(sender.buffer, sender.byteOffset).writeUInt32LE(next.sender, 4);
    return next.data.length;
  }
  async sendInBackground(fd: number, data: Uint8Array): Promise<number> {
    await this.pause;
    return this.send(fd, data);
  }
  async recvfromInBackground(
    fd: number,
    buffer: Uint8Array,
    flags: number,
    sender: Uint8Array,
  ): Promise<number> {
    await this.pause;
    return this.recvfrom(fd, buffer, flags, sender);
  }
  close(fd: number): number {
    this.closed.push(fd);
    return 0;
  }
  setns(): number {
    return 0;
  }
  watchReadable(): { close(): void } {
    this.watches++;
    return { close: () => this.watches-- };
  }
}

function open(prepare: (syscalls: FakeSyscalls) => void = () => {}) {
  const syscalls = new FakeSyscalls();
  prepare(syscalls);
  return { syscalls, socket: openNetlinkSocket(12, { syscalls, receiveTimeout: 2500 }) };
}

describe('opening', () => {
  test('asks for extended, capped acknowledgements and a receive timeout; learns its port', () => {
    const { syscalls, socket } = open();
    expect(syscalls.options).toContain('270/10=1');
    expect(syscalls.options).toContain('270/11=1');
    expect(syscalls.options).toContain('1/20=2');
    expect(socket.portId).toBe(1234);
  });

  test('takes the ordinary buffer limits when the process may not force them', () => {
    const { syscalls } = open((calls) => {
      calls.mayForce = false;
    });
    expect(syscalls.options.filter((option) => option.startsWith('1/7='))).toHaveLength(1);
    expect(syscalls.options.filter((option) => option.startsWith('1/8='))).toHaveLength(1);
  });

  test('a failure closes the descriptor and says which call failed', () => {
    const syscalls = new FakeSyscalls();
    syscalls.bindResult = -EPERM;
    expect(() => openNetlinkSocket(12, { syscalls })).toThrow('open netlink socket: bind failed with EPERM');
    expect(syscalls.closed).toEqual([7]);
  });
});

test('events of a port are filtered out; a kernel that refuses is an error', () => {
  const { syscalls, socket } = open();
  socket.ignoreEventsOf(1234);
  expect(syscalls.options.at(-1)).toBe('filter of 4 instructions');
  syscalls.filterResult = -EPERM;
  expect(() => socket.ignoreEventsOf(1234)).toThrow(
    'ignore events of port 1234: setsockopt failed with EPERM',
  );
});

describe('sending', () => {
  test('raises the send limit once for a datagram that does not fit', () => {
    const { syscalls, socket } = open();
    const before = syscalls.options.length;
    socket.send(Buffer.alloc(3 << 20), 'x');
    socket.send(Buffer.alloc(3 << 20), 'x');
    expect(syscalls.options.slice(before)).toEqual([`1/32=${(3 << 20) + 32}`]);
  });

  test('is repeated after a signal, and fails with the errno otherwise', () => {
    const { syscalls, socket } = open();
    syscalls.sends.push(-EINTR, -EINTR, 4, -ENOBUFS);
    socket.send(Buffer.alloc(4), 'x');
    expect(syscalls.sends).toEqual([-ENOBUFS]);
    expect(() => socket.send(Buffer.alloc(4), 'load rules')).toThrow('load rules: send failed with ENOBUFS');
  });
});

describe('receiving', () => {
  test('skips signals and whatever does not come from the kernel', () => {
    const { syscalls, socket } = open();
    syscalls.receives.push(-EINTR, { data: Buffer.from('forged'), sender: 99 }, -EINTR, {
      data: Buffer.from('real'),
      sender: 0,
    });
    expect(socket.receive('wait', 'x')?.toString()).toBe('real');
    expect(socket.receive('wait', 'x')).toBeUndefined();
  });

  test('a full queue and a cut-off datagram are errors of their own', () => {
    const { syscalls, socket } = open();
    syscalls.receives.push(-ENOBUFS, { data: Buffer.alloc(70_000), sender: 0 });
    expect(() => socket.receive('now', 'x')).toThrow(
      expect.objectContaining({ detail: { code: 'NETLINK_OVERRUN', op: 'x' } }),
    );
    expect(() => socket.receive('now', 'x')).toThrow('a datagram of 70000 bytes was cut off at 65536');
  });
});

describe('in the background', () => {
  test('sends and receives as in the foreground', async () => {
    const { syscalls, socket } = open();
    syscalls.sends.push(-EINTR, 4, -ENOBUFS);
    await socket.sendInBackground(Buffer.alloc(4), 'x');
    await expect(socket.sendInBackground(Buffer.alloc(4), 'x')).rejects.toThrow(
      'x: send failed with ENOBUFS',
    );
    syscalls.receives.push(-EINTR, { data: Buffer.from('real'), sender: 0 }, -ENOBUFS);
    expect((await socket.receiveInBackground('x'))?.toString()).toBe('real');
    await expect(socket.receiveInBackground('x')).rejects.toThrow('the receive buffer was full');
    expect(await socket.receiveInBackground('x')).toBeUndefined();
  });

  test('a socket that is closed meanwhile keeps its descriptor until the call has ended', async () => {
    const { syscalls, socket } = open();
    const { promise, resolve } = Promise.withResolvers<void>();
    syscalls.pause = promise;
    syscalls.receives.push({ data: Buffer.from('late'), sender: 0 });
    const received = socket.receiveInBackground('list flows');
    socket.close();
    expect(syscalls.closed).toEqual([]);
    resolve();
    await expect(received).rejects.toThrow('list flows: the socket is closed');
    expect(syscalls.closed).toEqual([7]);
  });
});

test('closing ends the watches first, and is final', () => {
  const { syscalls, socket } = open();
  socket.watch(() => {});
  const second = socket.watch(() => {});
  second.close();
  second.close();
  expect(syscalls.watches).toBe(1);
  socket.close();
  socket.close();
  expect(syscalls.watches).toBe(0);
  expect(syscalls.closed).toEqual([7]);
  expect(() => socket.send(Buffer.alloc(4), 'x')).toThrow('x: the socket is closed');
  expect(() => socket.receive('now', 'x')).toThrow('x: the socket is closed');
  expect(() => socket.joinGroup(7)).toThrow('join netlink group 7: the socket is closed');
});
