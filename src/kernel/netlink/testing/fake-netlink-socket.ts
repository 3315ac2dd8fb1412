import { AttributeWriter } from '../attribute-writer.ts';
import { writeHostU32 } from '../byte-order.ts';
import {
  beginMessage,
  endMessage,
  MESSAGE_HEADER,
  type NetlinkMessage,
  NLM_F_ACK,
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_MULTI,
  NLMSG_DONE,
  NLMSG_ERROR,
  readMessages,
} from '../message.ts';
import { NetlinkError } from '../netlink-error.ts';
import type { NetlinkSocket } from '../netlink-socket.ts';

/** What the fake kernel answers to one message. */
export type FakeAnswer =
  /** Done; an acknowledgement follows if the message asked for one. */
  | undefined
  /** Refused with this errno (positive). */
  | { readonly errno: number; readonly message?: string; readonly offset?: number }
  /** Objects: the answer to a get or a dump. */
  | { readonly messages: readonly FakeMessage[]; readonly interrupted?: boolean }
  /** Says nothing at all. */
  | 'silence';

export interface FakeMessage {
  readonly type: number;
  readonly body: (writer: AttributeWriter) => void;
}

/**
 * A netlink socket made from one function: the function sees each message that is sent and says what the kernel
 * answers. It frames the answers as the kernel does (acknowledgements, multi-part dumps, extended acks).
 */
export class FakeNetlinkSocket implements NetlinkSocket {
  readonly portId = 4711;
  /** Copies of all datagrams sent. */
  readonly sent: Buffer[] = [];
  readonly groups = new Set<number>();
  /** Ports whose events are not wanted. */
  readonly ignored = new Set<number>();
  closed = false;
  readonly #answer: (message: NetlinkMessage) => FakeAnswer;
  readonly #queue: (Buffer | NetlinkError)[] = [];
  readonly #watchers = new Set<() => void>();

  constructor(answer: (message: NetlinkMessage) => FakeAnswer = () => undefined) {
    this.#answer = answer;
  }

  send(datagram: Uint8Array, op: string): void {
    if (this.closed) throw new NetlinkError({ code: 'NETLINK_CLOSED', op }, `${op}: the socket is closed`);
    const copy = Buffer.from(datagram);
    this.sent.push(copy);
    for (const message of readMessages(copy)) this.#respond(message);
  }

  receive(_mode: 'wait' | 'now', op: string): Buffer | undefined {
    if (this.closed) throw new NetlinkError({ code: 'NETLINK_CLOSED', op }, `${op}: the socket is closed`);
    const next = this.#queue.shift();
    if (next instanceof NetlinkError) throw next;
    return next;
  }

  async sendInBackground(datagram: Uint8Array, op: string): Promise<void> {
    this.send(datagram, op);
  }

  async receiveInBackground(op: string): Promise<Buffer | undefined> {
    // As with a thread, the event loop turns in between.
    await new Promise((resolve) => setImmediate(resolve));
    return this.receive('wait', op);
  }

  joinGroup(group: number): void {
    this.groups.add(group);
  }

  leaveGroup(group: number): void {
    this.groups.delete(group);
  }

  ignoreEventsOf(portId: number): void {
    this.ignored.add(portId);
  }

  watch(onReadable: () => void): { close(): void } {
    this.#watchers.add(onReadable);
    return { close: () => this.#watchers.delete(onReadable) };
  }

  close(): void {
    this.closed = true;
    this.#watchers.clear();
  }

  /** Queues a datagram as the kernel would send it, e.g. a recorded frame. */
  push(datagram: Uint8Array): void {
    this.#queue.push(Buffer.from(datagram));
  }

  /** Queues an event with sequence 0. */
  pushEvent(event: FakeMessage): void {
    this.push(frame(event, 0, 0, 0));
  }

  /** Queues the failure of a receive call. */
  pushError(error: NetlinkError): void {
    this.#queue.push(error);
  }

  /** Tells the watchers that there is something to receive, as the event loop would. */
  notify(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #respond(message: NetlinkMessage): void {
    const { sequence, flags } = message;
    const answer = this.#answer(message);
    if (answer === 'silence') return;
    if (answer !== undefined && 'errno' in answer) {
      this.push(acknowledgement(message, this.portId, answer));
      return;
    }
    const isDump = (flags & NLM_F_DUMP) === NLM_F_DUMP && (flags & NLM_F_ACK) === 0;
    const interrupted = answer?.interrupted === true ? NLM_F_DUMP_INTR : 0;
    const part = (isDump ? NLM_F_MULTI : 0) | interrupted;
    for (const object of answer?.messages ?? []) this.push(frame(object, sequence, part, this.portId));
    if (isDump) {
      const done = { type: NLMSG_DONE, body: (writer: AttributeWriter) => void writer.reserve(4) };
      this.push(frame(done, sequence, NLM_F_MULTI | interrupted, this.portId));
    } else if ((flags & NLM_F_ACK) !== 0) {
      this.push(acknowledgement(message, this.portId, { errno: 0 }));
    }
  }
}

function frame(message: FakeMessage, sequence: number, flags: number, portId: number): Buffer {
  const writer = new AttributeWriter(256);
  const token = beginMessage(writer, { type: message.type, flags, sequence, portId });
  message.body(writer);
  endMessage(writer, token);
  return Buffer.from(writer.finish());
}

function acknowledgement(
  request: NetlinkMessage,
  portId: number,
  answer: { readonly errno: number; readonly message?: string; readonly offset?: number },
): Buffer {
  const { errno, message, offset } = answer;
  const extended = message !== undefined || offset !== undefined ? NLM_F_ACK_TLVS : 0;
  const body = (writer: AttributeWriter): void => {
    const at = writer.reserve(4 + MESSAGE_HEADER);
    writeHostU32(writer.bytes, -errno >>> 0, at);
    request.bytes.copy(writer.bytes, at + 4, request.start, request.start + MESSAGE_HEADER);
    if (message !== undefined) writer.addString(1, message);
    if (offset !== undefined) writer.addU32(2, offset);
  };
  return frame({ type: NLMSG_ERROR, body }, request.sequence, NLM_F_CAPPED | extended, portId);
}
