import { readRejection } from './acknowledgement.ts';
import { AttributeWriter } from './attribute-writer.ts';
import {
  beginMessage,
  endMessage,
  type NetlinkMessage,
  NLM_F_ACK,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
  NLMSG_NOOP,
  NLMSG_OVERRUN,
  readMessages,
} from './message.ts';
import { type KernelRejection, kernelError, NetlinkError } from './netlink-error.ts';
import { type NetlinkSocket, type NetlinkSocketOptions, openNetlinkSocket } from './netlink-socket.ts';

/** How often a dump is started again when the kernel says that the data changed meanwhile. */
const DUMP_ATTEMPTS = 5;

/** One request. `op` names it in errors, e.g. `delete address`. */
export interface NetlinkRequest {
  readonly op: string;
  readonly type: number;
  /** Flags besides REQUEST, ACK and DUMP. */
  readonly flags?: number;
  /** Appends the family header and the attributes. */
  readonly body: (writer: AttributeWriter) => void;
}

export interface DumpOptions {
  /** Called before the dump starts again: forget what was seen so far. */
  readonly onRestart?: () => void;
  /** Times the dump is tried; default 5. With `onInterrupted: 'accept'` the last one counts as it is. */
  readonly attempts?: number;
  readonly onInterrupted?: 'throw' | 'accept';
}

/** What a batch is: its name in errors, and the numbers of its messages. */
export interface Batch {
  readonly op: string;
  readonly firstSequence: number;
  readonly count: number;
}

/** Answers of the kernel to a batch of messages. */
export interface BatchResult {
  /** The refused messages, in the kernel's order, which is that of the batch. Empty when all was done. */
  readonly rejections: readonly KernelRejection[];
  /** Sequence numbers of messages that asked for an acknowledgement and got it. */
  readonly acknowledged: number;
  /** Whether answers were lost because the receive queue was full; then `rejections` may be incomplete. */
  readonly overrun: boolean;
}

interface Exchange {
  readonly op: string;
  readonly sequence: number;
  interrupted: boolean;
  failure: { readonly error: unknown } | undefined;
}

/**
 * Synchronous requests over one socket. The kernel handles a request within send(2), so nothing here waits in
 * practice; the socket's receive timeout is a guard against a kernel or a fake that does not answer.
 *
 * Not for event sockets, and not re-entrant: a callback must not use the connection that calls it.
 * Received messages are views that are overwritten; copy what is kept.
 */
export class NetlinkConnection {
  readonly socket: NetlinkSocket;
  readonly #writer = new AttributeWriter(1024);
  #sequence = 1;
  #busy: string | undefined;
  /** Whether an exchange was given up halfway, so that its rest may still be queued. */
  #unfinished = false;

  constructor(socket: NetlinkSocket) {
    this.socket = socket;
  }

  /** Opens a socket and a connection over it; see {@link openNetlinkSocket}. */
  static open(protocol: number, options: NetlinkSocketOptions = {}): NetlinkConnection {
    return new NetlinkConnection(openNetlinkSocket(protocol, options));
  }

  get portId(): number {
    return this.socket.portId;
  }

  /** Reserves `count` sequence numbers for messages that the caller numbers itself; returns the first one. */
  reserveSequences(count: number): number {
    // Kept below 2^31: never 0, which marks events, and a small integer for the engine.
    if (this.#sequence + count > 0x7fff_ffff) this.#sequence = 1;
    const first = this.#sequence;
    this.#sequence += count;
    return first;
  }

  /**
   * Sends one request and waits for its acknowledgement. `onMessage` sees what the kernel answers besides (NLM_F_ECHO,
   * or the object of a get). Throws NetlinkError.
   */
  request(request: NetlinkRequest, onMessage?: (message: NetlinkMessage) => void): void {
    this.#exclusive(request.op, () => {
      this.#receiveUntilEnd(this.#send(request, NLM_F_REQUEST | NLM_F_ACK), onMessage);
    });
  }

  /**
   * Lists objects: `onMessage` sees each message of the (multi-part) answer. Starts again when the kernel marks the
   * answer as interrupted. Throws NetlinkError; NETLINK_DUMP_INTERRUPTED after the last attempt.
   */
  dump(
    request: NetlinkRequest,
    onMessage: (message: NetlinkMessage) => void,
    options: DumpOptions = {},
  ): void {
    this.#exclusive(request.op, () => {
      for (let attempt = 1; ; attempt++) {
        const exchange = this.#send(request, NLM_F_REQUEST | NLM_F_DUMP);
        this.#receiveUntilEnd(exchange, onMessage);
        if (dumpIsComplete(exchange, attempt, options)) return;
      }
    });
  }

  /**
   * Like {@link dump}, for long lists: the kernel's part runs on another thread, and each datagram is handed over on a
   * turn of the event loop of its own. The connection serves nothing else until the promise settles.
   */
  async dumpInBackground(
    request: NetlinkRequest,
    onMessage: (message: NetlinkMessage) => void,
    options: DumpOptions = {},
  ): Promise<void> {
    const { op } = request;
    await this.#exclusiveAsync(op, async () => {
      for (let attempt = 1; ; attempt++) {
        const { exchange, datagram } = this.#encode(request, NLM_F_REQUEST | NLM_F_DUMP);
        await this.socket.sendInBackground(datagram, op);
        while (!this.#take(exchange, await this.socket.receiveInBackground(op), onMessage)) {
          // Each turn takes one datagram.
        }
        if (dumpIsComplete(exchange, attempt, options)) return;
      }
    });
  }

  /**
   * Sends many messages in one datagram, tens of megabytes if need be, and collects the kernel's answers. The caller
   * has written complete messages numbered from `firstSequence` (see {@link reserveSequences}), `count` of them.
   * A refusal is a result, not an exception; NetlinkError is thrown when the datagram could not be sent.
   */
  sendBatch(datagram: Uint8Array, batch: Batch, onMessage?: (message: NetlinkMessage) => void): BatchResult {
    return this.#exclusive(batch.op, () => {
      this.socket.send(datagram, batch.op);
      return this.#collect(batch, onMessage);
    });
  }

  /**
   * Like {@link sendBatch}, with the kernel's work on another thread: for batches that take it tens of milliseconds.
   * The datagram must not be touched, and the connection serves nothing else, until the promise settles.
   */
  async sendBatchInBackground(
    datagram: Uint8Array,
    batch: Batch,
    onMessage?: (message: NetlinkMessage) => void,
  ): Promise<BatchResult> {
    return this.#exclusiveAsync(batch.op, async () => {
      await this.socket.sendInBackground(datagram, batch.op);
      return this.#collect(batch, onMessage);
    });
  }

  close(): void {
    this.socket.close();
  }

  #exclusive<Result>(op: string, work: () => Result): Result {
    this.#begin(op);
    try {
      const result = work();
      this.#unfinished = false;
      return result;
    } catch (error) {
      this.#failed(error);
      throw error;
    } finally {
      this.#busy = undefined;
    }
  }

  async #exclusiveAsync<Result>(op: string, work: () => Promise<Result>): Promise<Result> {
    this.#begin(op);
    try {
      const result = await work();
      this.#unfinished = false;
      return result;
    } catch (error) {
      this.#failed(error);
      throw error;
    } finally {
      this.#busy = undefined;
    }
  }

  #begin(op: string): void {
    if (this.#busy !== undefined) throw new Error(`${op} was started inside ${this.#busy}`);
    if (this.#unfinished) this.#discardQueued(op);
    this.#busy = op;
    this.#unfinished = true;
  }

  #failed(error: unknown): void {
    // A refusal is a complete answer; after anything else the rest of it may still come.
    if (error instanceof NetlinkError && error.code === 'NETLINK_KERNEL_ERROR') this.#unfinished = false;
  }

  /** Receiving is also what drives an unfinished dump to its end; before that the kernel refuses another one. */
  #discardQueued(op: string): void {
    for (;;) {
      try {
        if (this.socket.receive('now', op) === undefined) return;
      } catch (error) {
        if (!(error instanceof NetlinkError) || error.code === 'NETLINK_SYSCALL_FAILED') throw error;
        if (error.code === 'NETLINK_CLOSED') throw error;
      }
    }
  }

  #send(request: NetlinkRequest, flags: number): Exchange {
    const { exchange, datagram } = this.#encode(request, flags);
    this.socket.send(datagram, request.op);
    return exchange;
  }

  #encode(request: NetlinkRequest, flags: number): { exchange: Exchange; datagram: Buffer } {
    const sequence = this.reserveSequences(1);
    const writer = this.#writer;
    writer.reset();
    const token = beginMessage(writer, {
      type: request.type,
      flags: flags | (request.flags ?? 0),
      sequence,
    });
    request.body(writer);
    endMessage(writer, token);
    const exchange = { op: request.op, sequence, interrupted: false, failure: undefined };
    return { exchange, datagram: writer.finish() };
  }

  #receiveUntilEnd(exchange: Exchange, onMessage?: (message: NetlinkMessage) => void): void {
    while (!this.#take(exchange, this.socket.receive('wait', exchange.op), onMessage)) {
      // Each turn takes one datagram.
    }
  }

  /**
   * Takes one datagram of an exchange; true when the acknowledgement or the end of the dump was in it.
   * When the callback throws, the rest is received all the same: a socket can hold only one unfinished dump.
   */
  #take(
    exchange: Exchange,
    datagram: Buffer | undefined,
    onMessage?: (message: NetlinkMessage) => void,
  ): boolean {
    const { op, sequence } = exchange;
    if (datagram === undefined) {
      throw new NetlinkError({ code: 'NETLINK_TIMEOUT', op, sequence }, `${op}: the kernel does not answer`);
    }
    for (const message of readMessages(datagram)) {
      // Left over from an exchange that was given up.
      if (message.sequence !== sequence) continue;
      const { type } = message;
      if ((message.flags & NLM_F_DUMP_INTR) !== 0) exchange.interrupted = true;
      if (type === NLMSG_ERROR || type === NLMSG_DONE) {
        if (exchange.failure !== undefined) throw exchange.failure.error;
        const rejection = readRejection(op, message);
        if (rejection !== undefined) throw kernelError(op, rejection);
        return true;
      }
      if (type === NLMSG_NOOP || exchange.failure !== undefined) continue;
      if (type === NLMSG_OVERRUN) {
        throw new NetlinkError({ code: 'NETLINK_OVERRUN', op }, `${op}: the kernel dropped answers`);
      }
      try {
        onMessage?.(message);
      } catch (error) {
        exchange.failure = { error };
      }
    }
    return false;
  }

  #collect(batch: Batch, onMessage?: (message: NetlinkMessage) => void): BatchResult {
    const { op, firstSequence, count } = batch;
    const rejections: KernelRejection[] = [];
    let acknowledged = 0;
    let overrun = false;
    for (;;) {
      let datagram: Buffer | undefined;
      try {
        // Everything the kernel has to say was queued before send returned.
        datagram = this.socket.receive('now', op);
      } catch (error) {
        if (!(error instanceof NetlinkError) || error.code !== 'NETLINK_OVERRUN') throw error;
        overrun = true;
        continue;
      }
      if (datagram === undefined) return { rejections, acknowledged, overrun };
      for (const message of readMessages(datagram)) {
        const index = message.sequence - firstSequence;
        if (index < 0 || index >= count) continue;
        if (message.type !== NLMSG_ERROR) {
          if (message.type > NLMSG_OVERRUN) onMessage?.(message);
          continue;
        }
        const rejection = readRejection(op, message);
        if (rejection === undefined) acknowledged++;
        else rejections.push(rejection);
      }
    }
  }
}

/** Whether a dump that was received to its end counts; otherwise it has to start again. */
function dumpIsComplete(exchange: Exchange, attempt: number, options: DumpOptions): boolean {
  if (!exchange.interrupted) return true;
  const { op } = exchange;
  const attempts = options.attempts ?? DUMP_ATTEMPTS;
  if (attempt >= attempts) {
    if (options.onInterrupted === 'accept') return true;
    throw new NetlinkError(
      { code: 'NETLINK_DUMP_INTERRUPTED', op, attempts },
      `${op}: the data changed during each of ${attempts} attempts`,
    );
  }
  options.onRestart?.();
  return false;
}
