import { shortAttribute } from './attribute-error.ts';
import { AttributeReader } from './attribute-reader.ts';
import { type AttributeWriter, align4 } from './attribute-writer.ts';
import { readHostU16, readHostU32, writeHostU16, writeHostU32 } from './byte-order.ts';

/** Bytes of `struct nlmsghdr`. */
export const MESSAGE_HEADER = 16;
/** Bytes of `struct nfgenmsg`, which starts every message of the netfilter families. */
export const NFGENMSG_LENGTH = 4;

// linux/netlink.h
export const NLMSG_NOOP = 1;
export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;
export const NLMSG_OVERRUN = 4;

export const NLM_F_REQUEST = 0x01;
export const NLM_F_MULTI = 0x02;
export const NLM_F_ACK = 0x04;
/** In an answer: the data changed while it was dumped, so the dump must be started again. */
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
/** In an NLMSG_ERROR: the request's payload was left out. */
export const NLM_F_CAPPED = 0x100;
/** In an NLMSG_ERROR: extended-ack attributes follow. */
export const NLM_F_ACK_TLVS = 0x200;

// linux/netfilter/nfnetlink.h
export const NFNL_MSG_BATCH_BEGIN = 0x10;
export const NFNL_MSG_BATCH_END = 0x11;
export const NFNETLINK_V0 = 0;
/** NFNL_BATCH_GENID: the ruleset generation a batch expects; ERESTART when it is another. */
export const NFNL_BATCH_GENID = 1;

/** Type of a netfilter message: the subsystem in the high byte, the command in the low one. */
export const netfilterType = (subsystem: number, command: number): number => (subsystem << 8) | command;

export interface MessageHeader {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** 0 when sent; in what the kernel sends, the socket it answers or 0 for events. */
  readonly portId?: number;
}

/** Opens a message and returns the token {@link endMessage} needs. */
export function beginMessage(writer: AttributeWriter, header: MessageHeader): number {
  const at = writer.reserve(MESSAGE_HEADER);
  writeHostU16(writer.bytes, header.type, at + 4);
  writeHostU16(writer.bytes, header.flags, at + 6);
  writeHostU32(writer.bytes, header.sequence >>> 0, at + 8);
  writeHostU32(writer.bytes, header.portId ?? 0, at + 12);
  return at;
}

/** Closes the message opened last: patches its length, which is kept a multiple of 4. */
export function endMessage(writer: AttributeWriter, token: number): void {
  const length = writer.length - token;
  writer.reserve(align4(length) - length);
  writeHostU32(writer.bytes, writer.length - token, token);
}

/** Opens a message of a netfilter family: header and nfgenmsg. `resourceId` is 16 bits, sent in network order. */
export function beginNetfilterMessage(
  writer: AttributeWriter,
  header: MessageHeader,
  family: number,
  resourceId = 0,
): number {
  const token = beginMessage(writer, header);
  const at = writer.reserve(NFGENMSG_LENGTH);
  writer.bytes[at] = family;
  writer.bytes[at + 1] = NFNETLINK_V0;
  writer.bytes.writeUInt16BE(resourceId, at + 2);
  return token;
}

/** One received message: a view into the receive buffer, valid as long as that buffer is not reused. */
export class NetlinkMessage {
  readonly bytes: Buffer;
  /** Where the header starts. */
  readonly start: number;
  /** Where the message ends, padding excluded. */
  readonly end: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  get type(): number {
    return readHostU16(this.bytes, this.start + 4);
  }

  get flags(): number {
    return readHostU16(this.bytes, this.start + 6);
  }

  get sequence(): number {
    return readHostU32(this.bytes, this.start + 8);
  }

  get portId(): number {
    return readHostU32(this.bytes, this.start + 12);
  }

  /** Everything behind the header. */
  get payload(): Buffer {
    return this.bytes.subarray(this.start + MESSAGE_HEADER, this.end);
  }

  /** The attributes behind a family header of `headerLength` bytes (default: nfgenmsg). */
  attributes(path: string, headerLength = NFGENMSG_LENGTH): AttributeReader {
    return new AttributeReader(this.bytes, this.start + MESSAGE_HEADER + headerLength, this.end, path);
  }
}

/** The messages in a datagram, in order. Throws AttributeError when one is cut off. */
export function* readMessages(datagram: Buffer): Generator<NetlinkMessage> {
  let at = 0;
  while (at < datagram.length) {
    const left = datagram.length - at;
    if (left < MESSAGE_HEADER) throw shortAttribute('message', MESSAGE_HEADER, left);
    const length = readHostU32(datagram, at);
    if (length < MESSAGE_HEADER || length > left) {
      throw shortAttribute('message', Math.max(length, MESSAGE_HEADER), left);
    }
    yield new NetlinkMessage(datagram, at, at + length);
    at += align4(length);
  }
}
