import { formatIp, type IpFamily } from '../../base/ip.ts';
import { AF_INET, AF_INET6 } from '../netlink/address-family.ts';
import { shortAttribute } from '../netlink/attribute-error.ts';
import { ATTRIBUTE_HEADER, align4, NLA_TYPE_MASK } from '../netlink/attribute-writer.ts';
import { readHostU16 } from '../netlink/byte-order.ts';
import { MESSAGE_HEADER, type NetlinkMessage, NFGENMSG_LENGTH } from '../netlink/message.ts';
import {
  CTA_ID,
  CTA_IP_V4_DST,
  CTA_IP_V4_SRC,
  CTA_IP_V6_DST,
  CTA_IP_V6_SRC,
  CTA_MARK,
  CTA_PROTO_DST_PORT,
  CTA_PROTO_NUM,
  CTA_PROTO_SRC_PORT,
  CTA_PROTOINFO,
  CTA_PROTOINFO_SCTP,
  CTA_PROTOINFO_SCTP_STATE,
  CTA_PROTOINFO_TCP,
  CTA_PROTOINFO_TCP_STATE,
  CTA_STATUS,
  CTA_TIMEOUT,
  CTA_TUPLE_IP,
  CTA_TUPLE_ORIG,
  CTA_TUPLE_PROTO,
  CTA_TUPLE_REPLY,
  CTA_ZONE,
  IPPROTO_SCTP,
  IPPROTO_TCP,
  IPS_SEEN_REPLY,
  SCTP_CONNTRACK_CLOSED,
  SCTP_CONNTRACK_COOKIE_WAIT,
  TCP_CONNTRACK_SYN_SENT,
} from './conntrack-attributes.ts';

/** One direction of a flow. Addresses are canonical text; ports are 0 for protocols without. */
export interface FlowTuple {
  readonly protocol: number;
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
}

const NOWHERE = Buffer.alloc(0);

/** One direction of a {@link ConntrackFlow}: where its addresses start in the flow's bytes (-1: absent), and its ports. */
export class FlowDirection {
  protocol = 0;
  sourceAt = -1;
  destinationAt = -1;
  sourcePort = 0;
  destinationPort = 0;

  /** Reads the attributes of a CTA_TUPLE_*. */
  read(bytes: Buffer, from: number, end: number): void {
    this.protocol = 0;
    this.sourceAt = -1;
    this.destinationAt = -1;
    this.sourcePort = 0;
    this.destinationPort = 0;
    for (let at = from; at < end; ) {
      const length = attributeLength(bytes, at, end);
      const inner = at + ATTRIBUTE_HEADER;
      const type = readHostU16(bytes, at + 2) & NLA_TYPE_MASK;
      if (type === CTA_TUPLE_IP) this.#readAddresses(bytes, inner, at + length);
      else if (type === CTA_TUPLE_PROTO) this.#readProtocol(bytes, inner, at + length);
      at += align4(length);
    }
  }

  #readAddresses(bytes: Buffer, from: number, end: number): void {
    for (let at = from; at < end; ) {
      const length = attributeLength(bytes, at, end);
      const type = readHostU16(bytes, at + 2) & NLA_TYPE_MASK;
      const isSource = type === CTA_IP_V4_SRC || type === CTA_IP_V6_SRC;
      if (isSource || type === CTA_IP_V4_DST || type === CTA_IP_V6_DST) {
        const size = type === CTA_IP_V4_SRC || type === CTA_IP_V4_DST ? 4 : 16;
        needValue(length, size, type);
        if (isSource) this.sourceAt = at + ATTRIBUTE_HEADER;
        else this.destinationAt = at + ATTRIBUTE_HEADER;
      }
      at += align4(length);
    }
  }

  #readProtocol(bytes: Buffer, from: number, end: number): void {
    for (let at = from; at < end; ) {
      const length = attributeLength(bytes, at, end);
      const value = at + ATTRIBUTE_HEADER;
      switch (readHostU16(bytes, at + 2) & NLA_TYPE_MASK) {
        case CTA_PROTO_NUM:
          needValue(length, 1, CTA_PROTO_NUM);
          this.protocol = bytes[value]!;
          break;
        case CTA_PROTO_SRC_PORT:
          needValue(length, 2, CTA_PROTO_SRC_PORT);
          this.sourcePort = (bytes[value]! << 8) | bytes[value + 1]!;
          break;
        case CTA_PROTO_DST_PORT:
          needValue(length, 2, CTA_PROTO_DST_PORT);
          this.destinationPort = (bytes[value]! << 8) | bytes[value + 1]!;
          break;
      }
      at += align4(length);
    }
  }
}

/**
 * A tracked flow as the kernel reports it. It is a view that the next flow of a listing overwrites, so that a pass
 * over a large table allocates nothing per flow; {@link original} and the like make copies.
 */
export class ConntrackFlow {
  /** The receive buffer that the offsets point into. */
  bytes: Buffer = NOWHERE;
  family: IpFamily = 'IPv4';
  /** Bytes of an address: 4 or 16. */
  addressLength = 4;
  readonly originalDirection = new FlowDirection();
  readonly replyDirection = new FlowDirection();
  /** IPS_* bits. */
  status = 0;
  /** TCP_CONNTRACK_* or SCTP_CONNTRACK_*; 0 for other protocols. */
  connectionState = 0;
  /** Seconds the entry has left without traffic. */
  timeoutSeconds = 0;
  mark = 0;
  /** Conntrack zone; 0 is the default one. */
  zone = 0;
  /** Tells this flow from a later one with the same addresses; 0 when the kernel sent none. */
  id = 0;
  /** Where the attribute CTA_TUPLE_ORIG starts and ends, header included. */
  originalTupleStart = 0;
  originalTupleEnd = 0;

  /** Transport protocol number of the original direction, e.g. 17 for UDP. */
  get protocol(): number {
    return this.originalDirection.protocol;
  }

  /** Copy of the original direction: what the client sent. */
  get original(): FlowTuple {
    return this.#tuple(this.originalDirection);
  }

  /** Copy of the reply direction: its source is where the flow really goes. */
  get reply(): FlowTuple {
    return this.#tuple(this.replyDirection);
  }

  /** Whether the destination was rewritten: replies come from elsewhere than where the client sends to. */
  get isDestinationTranslated(): boolean {
    const { bytes, originalDirection, replyDirection, addressLength } = this;
    if (originalDirection.destinationPort !== replyDirection.sourcePort) return true;
    const one = originalDirection.destinationAt;
    const other = replyDirection.sourceAt;
    for (let i = 0; i < addressLength; i++) if (bytes[one + i] !== bytes[other + i]) return true;
    return false;
  }

  /**
   * Whether this is a TCP or SCTP connection whose client has sent its SYN or INIT, and that nobody has answered.
   * False for one that the kernel came upon halfway: there the other direction may take another way.
   */
  get isOpening(): boolean {
    if ((this.status & IPS_SEEN_REPLY) !== 0) return false;
    const { protocol, connectionState } = this;
    if (protocol === IPPROTO_TCP) return connectionState === TCP_CONNTRACK_SYN_SENT;
    // An INIT leaves the association closed; in some kernels, and after other packets, it waits for its cookie.
    return (
      protocol === IPPROTO_SCTP &&
      (connectionState === SCTP_CONNTRACK_CLOSED || connectionState === SCTP_CONNTRACK_COOKIE_WAIT)
    );
  }

  /**
   * Points the view at an IPCTNL_MSG_CT_NEW; false for families other than IP and for entries without addresses.
   * Throws AttributeError (NETLINK_ATTRIBUTE_SHORT) when the message is cut off.
   */
  read(message: NetlinkMessage): boolean {
    const { bytes, start, end } = message;
    const familyNumber = bytes[start + MESSAGE_HEADER];
    if (familyNumber !== AF_INET && familyNumber !== AF_INET6) return false;
    this.bytes = bytes;
    this.family = familyNumber === AF_INET ? 'IPv4' : 'IPv6';
    this.addressLength = familyNumber === AF_INET ? 4 : 16;
    this.status = 0;
    this.connectionState = 0;
    this.timeoutSeconds = 0;
    this.mark = 0;
    this.zone = 0;
    this.id = 0;
    this.originalTupleStart = 0;
    this.originalTupleEnd = 0;
    this.originalDirection.sourceAt = -1;
    this.replyDirection.sourceAt = -1;
    for (let at = start + MESSAGE_HEADER + NFGENMSG_LENGTH; at < end; ) {
      const length = attributeLength(bytes, at, end);
      this.#readAttribute(readHostU16(bytes, at + 2) & NLA_TYPE_MASK, at, length);
      at += align4(length);
    }
    return this.originalDirection.sourceAt >= 0 && this.replyDirection.sourceAt >= 0;
  }

  #readAttribute(type: number, at: number, length: number): void {
    const { bytes } = this;
    const value = at + ATTRIBUTE_HEADER;
    switch (type) {
      case CTA_TUPLE_ORIG:
        this.originalTupleStart = at;
        this.originalTupleEnd = at + length;
        this.originalDirection.read(bytes, value, at + length);
        break;
      case CTA_TUPLE_REPLY:
        this.replyDirection.read(bytes, value, at + length);
        break;
      case CTA_STATUS:
        this.status = u32be(bytes, value, length, type);
        break;
      case CTA_PROTOINFO:
        this.#readConnectionState(value, at + length);
        break;
      case CTA_TIMEOUT:
        this.timeoutSeconds = u32be(bytes, value, length, type);
        break;
      case CTA_MARK:
        this.mark = u32be(bytes, value, length, type);
        break;
      case CTA_ID:
        this.id = u32be(bytes, value, length, type);
        break;
      case CTA_ZONE:
        needValue(length, 2, type);
        this.zone = (bytes[value]! << 8) | bytes[value + 1]!;
        break;
    }
  }

  #readConnectionState(from: number, end: number): void {
    const { bytes } = this;
    for (let at = from; at < end; ) {
      const length = attributeLength(bytes, at, end);
      const type = readHostU16(bytes, at + 2) & NLA_TYPE_MASK;
      const wanted = type === CTA_PROTOINFO_TCP ? CTA_PROTOINFO_TCP_STATE : CTA_PROTOINFO_SCTP_STATE;
      if (type === CTA_PROTOINFO_TCP || type === CTA_PROTOINFO_SCTP) {
        for (let inner = at + ATTRIBUTE_HEADER; inner < at + length; ) {
          const innerLength = attributeLength(bytes, inner, at + length);
          if ((readHostU16(bytes, inner + 2) & NLA_TYPE_MASK) === wanted) {
            needValue(innerLength, 1, wanted);
            this.connectionState = bytes[inner + ATTRIBUTE_HEADER]!;
          }
          inner += align4(innerLength);
        }
      }
      at += align4(length);
    }
  }

  #tuple(direction: FlowDirection): FlowTuple {
    const { bytes, addressLength } = this;
    const { protocol, sourceAt, destinationAt, sourcePort, destinationPort } = direction;
    return {
      protocol,
      source: formatIp(bytes.subarray(sourceAt, sourceAt + addressLength)),
      sourcePort,
      destination: formatIp(bytes.subarray(destinationAt, destinationAt + addressLength)),
      destinationPort,
    };
  }
}

// Written out rather than through AttributeReader: a listing decodes some dozen attributes for each of up to a million
// flows, and a reader object for each nested list would be most of its cost.

function attributeLength(bytes: Buffer, at: number, end: number): number {
  const left = end - at;
  if (left < ATTRIBUTE_HEADER) throw shortAttribute('flow', ATTRIBUTE_HEADER, left);
  const length = readHostU16(bytes, at);
  if (length < ATTRIBUTE_HEADER || length > left) throw shortAttribute('flow', length, left);
  return length;
}

function needValue(length: number, size: number, type: number): void {
  const got = length - ATTRIBUTE_HEADER;
  if (got < size) throw shortAttribute(`flow#${type}`, size, got);
}

function u32be(bytes: Buffer, at: number, length: number, type: number): number {
  needValue(length, 4, type);
  return bytes.readUInt32BE(at);
}
