import { type IpFamily, ipBytes } from '../../base/ip.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import {
  CTA_FILTER,
  CTA_FILTER_F_CTA_PROTO_NUM,
  CTA_FILTER_ORIG_FLAGS,
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
  CTA_STATUS_MASK,
  CTA_TIMEOUT,
  CTA_TUPLE_IP,
  CTA_TUPLE_ORIG,
  CTA_TUPLE_PROTO,
  CTA_TUPLE_REPLY,
  CTA_ZONE,
  IPPROTO_TCP,
} from './conntrack-attributes.ts';
import type { FlowTuple } from './conntrack-flow.ts';

/** Which flows a listing is about. */
export interface FlowQuery {
  readonly family: IpFamily;
  /** Transport protocol number, e.g. 17 for UDP. */
  readonly protocol?: number;
  /** Only flows with `status & mask === value` (IPS_* bits). */
  readonly status?: { readonly value: number; readonly mask: number };
}

/** A flow to be created. */
export interface NewFlow {
  readonly original: FlowTuple;
  readonly reply: FlowTuple;
  readonly timeoutSeconds: number;
  /** IPS_* bits; the kernel adds IPS_CONFIRMED and refuses the NAT bits. */
  readonly status?: number;
  /** TCP_CONNTRACK_* or SCTP_CONNTRACK_*; the kernel itself wants verification tags with the latter. */
  readonly connectionState?: number;
  readonly mark?: number;
  readonly zone?: number;
}

/**
 * Writes the filter of a listing. The protocol filter (CTA_FILTER) needs kernel 5.8, the status filter 5.18; older
 * kernels pass over attributes they do not know and list everything.
 */
export function encodeFlowFilter(writer: AttributeWriter, query: FlowQuery): void {
  if (query.protocol !== undefined) {
    const tuple = writer.beginNested(CTA_TUPLE_ORIG, 'original');
    const proto = writer.beginNested(CTA_TUPLE_PROTO, 'proto');
    writer.addU8(CTA_PROTO_NUM, query.protocol);
    writer.endNested(proto);
    writer.endNested(tuple);
    const filter = writer.beginNested(CTA_FILTER, 'filter');
    writer.addU32(CTA_FILTER_ORIG_FLAGS, CTA_FILTER_F_CTA_PROTO_NUM);
    writer.endNested(filter);
  }
  if (query.status !== undefined) {
    writer.addU32be(CTA_STATUS, query.status.value);
    writer.addU32be(CTA_STATUS_MASK, query.status.mask);
  }
}

/** Writes one direction of a flow. Throws RangeError when an address is not canonical. */
export function encodeTuple(
  writer: AttributeWriter,
  type: typeof CTA_TUPLE_ORIG | typeof CTA_TUPLE_REPLY,
  tuple: FlowTuple,
): void {
  const source = ipBytes(tuple.source);
  const destination = ipBytes(tuple.destination);
  const isV4 = source.length === 4;
  const outer = writer.beginNested(type, type === CTA_TUPLE_ORIG ? 'original' : 'reply');
  if (source.length !== destination.length) writer.fail('addresses of different families');
  const ip = writer.beginNested(CTA_TUPLE_IP, 'ip');
  writer.addBytes(isV4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, source);
  writer.addBytes(isV4 ? CTA_IP_V4_DST : CTA_IP_V6_DST, destination);
  writer.endNested(ip);
  const proto = writer.beginNested(CTA_TUPLE_PROTO, 'proto');
  writer.addU8(CTA_PROTO_NUM, tuple.protocol);
  writer.addU16be(CTA_PROTO_SRC_PORT, tuple.sourcePort);
  writer.addU16be(CTA_PROTO_DST_PORT, tuple.destinationPort);
  writer.endNested(proto);
  writer.endNested(outer);
}

/** Writes the attributes of a flow to be created. */
export function encodeNewFlow(writer: AttributeWriter, flow: NewFlow): void {
  encodeTuple(writer, CTA_TUPLE_ORIG, flow.original);
  encodeTuple(writer, CTA_TUPLE_REPLY, flow.reply);
  writer.addU32be(CTA_TIMEOUT, flow.timeoutSeconds);
  if (flow.status !== undefined) writer.addU32be(CTA_STATUS, flow.status);
  if (flow.connectionState !== undefined) {
    const isTcp = flow.original.protocol === IPPROTO_TCP;
    const info = writer.beginNested(CTA_PROTOINFO, 'protoinfo');
    const inner = writer.beginNested(isTcp ? CTA_PROTOINFO_TCP : CTA_PROTOINFO_SCTP, 'state');
    writer.addU8(isTcp ? CTA_PROTOINFO_TCP_STATE : CTA_PROTOINFO_SCTP_STATE, flow.connectionState);
    writer.endNested(inner);
    writer.endNested(info);
  }
  if (flow.mark !== undefined) writer.addU32be(CTA_MARK, flow.mark);
  if (flow.zone !== undefined) writer.addU16be(CTA_ZONE, flow.zone);
}
