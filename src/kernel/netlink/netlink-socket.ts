import { EAGAIN, EINTR, ENOBUFS } from '../native/errno.ts';
import { linuxSyscalls } from '../native/linux-syscalls.ts';
import type { ReadableWatcher, Syscalls } from '../native/syscalls.ts';
import { readHostU32, writeHostU16, writeHostU32 } from './byte-order.ts';
import { dropMessagesFrom } from './drop-messages-from.ts';
import { NetlinkError, syscallError } from './netlink-error.ts';

// linux/netlink.h: protocols
export const NETLINK_ROUTE = 0;
export const NETLINK_NETFILTER = 12;

// linux/netlink.h, linux/socket.h, asm-generic/socket.h; the same on every architecture that Node runs on.
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0x80000;
const MSG_TRUNC = 0x20;
const MSG_DONTWAIT = 0x40;
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_RCVTIMEO = 20;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_DROP_MEMBERSHIP = 2;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const SOCKADDR_NL_LENGTH = 12;

/** The kernel never builds a dump datagram above 32 KiB; twice that leaves room for the odd large single message. */
const RECEIVE_BUFFER_LENGTH = 65_536;

/** A socket of one netlink protocol. One thread uses it; nothing is retried except EINTR. */
export interface NetlinkSocket {
  /** The address the kernel gave this socket; messages of our own making carry it. */
  readonly portId: number;
  /**
   * Sends one datagram of one or more messages. The kernel has dealt with them when this returns: acknowledgements
   * and errors are waiting to be received. Throws NetlinkError (NETLINK_SYSCALL_FAILED).
   */
  send(datagram: Uint8Array, op: string): void;
  /**
   * The next datagram from the kernel: a view that the next call overwrites. `wait` blocks up to the receive
   * timeout, `now` does not block; `undefined` when nothing came.
   * Throws NetlinkError: NETLINK_OVERRUN, NETLINK_MALFORMED (too long), NETLINK_SYSCALL_FAILED.
   */
  receive(mode: 'wait' | 'now', op: string): Buffer | undefined;
  /**
   * {@link send} and {@link receive} on another thread, for requests that keep the kernel busy for long. Nothing else
   * may be done with the socket until the promise settles, except closing it.
   */
  sendInBackground(datagram: Uint8Array, op: string): Promise<void>;
  receiveInBackground(op: string): Promise<Buffer | undefined>;
  /** Subscribes to a multicast group (its number, not a bit mask). */
  joinGroup(group: number): void;
  leaveGroup(group: number): void;
  /**
   * Keeps multicast messages about what the socket `portId` asked for out of the queue. The kernel tells by the first
   * message of a datagram; all messages of one are about the same request.
   */
  ignoreEventsOf(portId: number): void;
  /** Calls back on the event loop while there is something to receive. Does not keep the process alive. */
  watch(onReadable: () => void): { close(): void };
  /** Closes the socket and its watches; a call in the background ends first. Closing twice is harmless. */
  close(): void;
}

export interface NetlinkSocketOptions {
  /** How long {@link NetlinkSocket.receive} may block, milliseconds. */
  readonly receiveTimeout?: number;
  /** Limit of the receive queue, bytes. It is used only as it fills. */
  readonly receiveBuffer?: number;
  /** Ask the kernel to refuse dump requests with filters it does not know (NETLINK_GET_STRICT_CHK). */
  readonly strictChecking?: boolean;
  readonly syscalls?: Syscalls & ReadableWatcher;
}

/**
 * Opens a socket in the calling thread's network namespace, with extended and capped acknowledgements.
 * Throws NetlinkError (NETLINK_SYSCALL_FAILED), e.g. EPROTONOSUPPORT when the kernel lacks the protocol.
 */
export function openNetlinkSocket(protocol: number, options: NetlinkSocketOptions = {}): NetlinkSocket {
  return new LinuxNetlinkSocket(protocol, options);
}

class LinuxNetlinkSocket implements NetlinkSocket {
  readonly portId: number;
  readonly #syscalls: Syscalls & ReadableWatcher;
  readonly #buffer = Buffer.allocUnsafeSlow(RECEIVE_BUFFER_LENGTH);
  readonly #sender = Buffer.alloc(SOCKADDR_NL_LENGTH);
  readonly #watches = new Set<{ close(): void }>();
  #fd: number;
  #sendLimit = 0;
  #background: Promise<number> | undefined;

  constructor(protocol: number, options: NetlinkSocketOptions) {
    this.#syscalls = options.syscalls ?? linuxSyscalls();
    const op = 'open netlink socket';
    this.#fd = this.#checked(
      op,
      'socket',
      this.#syscalls.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol),
    );
    try {
      // Refused by kernels before 4.3, 4.12 and 4.20, which then say less in their answers.
      this.#setOption(SOL_NETLINK, NETLINK_CAP_ACK, 1);
      this.#setOption(SOL_NETLINK, NETLINK_EXT_ACK, 1);
      if (options.strictChecking === true) this.#setOption(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
      this.#setBuffer(SO_RCVBUFFORCE, SO_RCVBUF, options.receiveBuffer ?? 8 << 20);
      this.#sendLimit = this.#setBuffer(SO_SNDBUFFORCE, SO_SNDBUF, 1 << 20);
      const timeout = timeval(options.receiveTimeout ?? 10_000);
      this.#checked(op, 'setsockopt', this.#syscalls.setsockopt(this.#fd, SOL_SOCKET, SO_RCVTIMEO, timeout));
      const address = Buffer.alloc(SOCKADDR_NL_LENGTH);
      writeHostU16(address, AF_NETLINK, 0);
      this.#checked(op, 'bind', this.#syscalls.bind(this.#fd, address));
      this.#checked(op, 'getsockname', this.#syscalls.getsockname(this.#fd, address));
      this.portId = readHostU32(address, 4);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  send(datagram: Uint8Array, op: string): void {
    this.#prepareSend(datagram, op);
    let sent: number;
    do sent = this.#syscalls.send(this.#fd, datagram, 0);
    while (sent === -EINTR);
    this.#checked(op, 'send', sent);
  }

  receive(mode: 'wait' | 'now', op: string): Buffer | undefined {
    this.#mustBeOpen(op);
    const flags = MSG_TRUNC | (mode === 'now' ? MSG_DONTWAIT : 0);
    for (;;) {
      const length = this.#syscalls.recvfrom(this.#fd, this.#buffer, flags, this.#sender);
      const datagram = this.#received(length, op);
      if (datagram !== 'again') return datagram;
    }
  }

  async sendInBackground(datagram: Uint8Array, op: string): Promise<void> {
    this.#prepareSend(datagram, op);
    let sent: number;
    do sent = await this.#inBackground(this.#syscalls.sendInBackground(this.#fd, datagram, 0), op);
    while (sent === -EINTR);
    this.#checked(op, 'send', sent);
  }

  async receiveInBackground(op: string): Promise<Buffer | undefined> {
    this.#mustBeOpen(op);
    for (;;) {
      const call = this.#syscalls.recvfromInBackground(this.#fd, this.#buffer, MSG_TRUNC, this.#sender);
      const datagram = this.#received(await this.#inBackground(call, op), op);
      if (datagram !== 'again') return datagram;
    }
  }

  joinGroup(group: number): void {
    this.#membership(NETLINK_ADD_MEMBERSHIP, group, `join netlink group ${group}`);
  }

  leaveGroup(group: number): void {
    this.#membership(NETLINK_DROP_MEMBERSHIP, group, `leave netlink group ${group}`);
  }

  ignoreEventsOf(portId: number): void {
    const op = `ignore events of port ${portId}`;
    this.#mustBeOpen(op);
    this.#checked(op, 'setsockopt', this.#syscalls.attachFilter(this.#fd, dropMessagesFrom(portId)));
  }

  watch(onReadable: () => void): { close(): void } {
    this.#mustBeOpen('watch netlink socket');
    const watch = this.#syscalls.watchReadable(this.#fd, onReadable);
    this.#watches.add(watch);
    return {
      close: () => {
        if (this.#watches.delete(watch)) watch.close();
      },
    };
  }

  close(): void {
    if (this.#fd < 0) return;
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
    const fd = this.#fd;
    this.#fd = -1;
    // Another thread may be about to use the number, which the kernel would hand out again at once.
    if (this.#background === undefined) this.#syscalls.close(fd);
    else void this.#background.then(() => this.#syscalls.close(fd));
  }

  async #inBackground(call: Promise<number>, op: string): Promise<number> {
    this.#background = call;
    const result = await call;
    this.#background = undefined;
    this.#mustBeOpen(op);
    return result;
  }

  #prepareSend(datagram: Uint8Array, op: string): void {
    this.#mustBeOpen(op);
    // The kernel wants the whole datagram, and its own 32 bytes, below the socket's send limit (netlink_sendmsg).
    if (datagram.length + 32 > this.#sendLimit) {
      this.#sendLimit = this.#setBuffer(SO_SNDBUFFORCE, SO_SNDBUF, datagram.length + 32);
    }
  }

  /** Makes of what recvfrom returned a datagram, nothing, or an error; `again` when it has to be called once more. */
  #received(length: number, op: string): Buffer | undefined | 'again' {
    if (length === -EINTR) return 'again';
    if (length === -EAGAIN) return undefined;
    if (length === -ENOBUFS) {
      throw new NetlinkError({ code: 'NETLINK_OVERRUN', op }, `${op}: the receive buffer was full`);
    }
    this.#checked(op, 'recvfrom', length);
    // Another process may address this socket; only what port 0 sends is the kernel's word.
    if (readHostU32(this.#sender, 4) !== 0) return 'again';
    if (length > RECEIVE_BUFFER_LENGTH) {
      const reason = `a datagram of ${length} bytes was cut off at ${RECEIVE_BUFFER_LENGTH}`;
      throw new NetlinkError({ code: 'NETLINK_MALFORMED', op, reason }, `${op}: ${reason}`);
    }
    return this.#buffer.subarray(0, length);
  }

  #membership(option: number, group: number, op: string): void {
    this.#mustBeOpen(op);
    this.#checked(op, 'setsockopt', this.#setOption(SOL_NETLINK, option, group));
  }

  #setOption(level: number, option: number, value: number): number {
    const bytes = Buffer.alloc(4);
    writeHostU32(bytes, value, 0);
    return this.#syscalls.setsockopt(this.#fd, level, option, bytes);
  }

  /** Raises a buffer's limit, past the system's maximum where the process may; returns the limit that holds now. */
  #setBuffer(forceOption: number, option: number, bytes: number): number {
    if (this.#setOption(SOL_SOCKET, forceOption, bytes) < 0) this.#setOption(SOL_SOCKET, option, bytes);
    const value = Buffer.alloc(4);
    return this.#syscalls.getsockopt(this.#fd, SOL_SOCKET, option, value) < 0 ? 0 : readHostU32(value, 0);
  }

  #checked(op: string, syscall: string, result: number): number {
    if (result < 0) throw syscallError(op, syscall, -result);
    return result;
  }

  #mustBeOpen(op: string): void {
    if (this.#fd < 0) throw new NetlinkError({ code: 'NETLINK_CLOSED', op }, `${op}: the socket is closed`);
  }
}

/** struct timeval: two longs, which are 64 bits on the platforms Node supports. */
function timeval(milliseconds: number): Uint8Array {
  const value = new BigInt64Array(2);
  value[0] = BigInt(Math.floor(milliseconds / 1000));
  value[1] = BigInt((milliseconds % 1000) * 1000);
  return new Uint8Array(value.buffer);
}
