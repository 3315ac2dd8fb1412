import { errnoName } from '../native/errno.ts';
import { AttributeReader } from './attribute-reader.ts';
import { align4 } from './attribute-writer.ts';
import { readHostI32 } from './byte-order.ts';
import {
  MESSAGE_HEADER,
  type NetlinkMessage,
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLMSG_DONE,
  NLMSG_ERROR,
} from './message.ts';
import { type KernelRejection, NetlinkError } from './netlink-error.ts';

// linux/netlink.h, enum nlmsgerr_attrs
const NLMSGERR_ATTR_MSG = 1;
const NLMSGERR_ATTR_OFFS = 2;

/** What an NLMSG_ERROR or NLMSG_DONE says; `undefined` when it reports success. */
export function readRejection(op: string, message: NetlinkMessage): KernelRejection | undefined {
  const { bytes, start, end, type, flags } = message;
  const at = start + MESSAGE_HEADER;
  if (end - at < 4) {
    // A dump's end carries no status on some paths; an acknowledgement always does.
    if (type === NLMSG_DONE) return undefined;
    const reason = 'an acknowledgement without a status';
    throw new NetlinkError({ code: 'NETLINK_MALFORMED', op, reason }, `${op}: ${reason}`);
  }
  const status = readHostI32(bytes, at);
  if (status >= 0) return undefined;
  let attributes = at + 4;
  if (type === NLMSG_ERROR) {
    const original = (flags & NLM_F_CAPPED) !== 0 ? MESSAGE_HEADER : readHostI32(bytes, at + 4);
    attributes += align4(original);
  }
  const rejection = {
    sequence: message.sequence,
    errno: -status,
    errnoName: errnoName(-status),
  };
  if ((flags & NLM_F_ACK_TLVS) === 0) return rejection;
  let text: string | undefined;
  let offset: number | undefined;
  const reader = new AttributeReader(bytes, attributes, end, `${op}: extended acknowledgement`);
  while (reader.next()) {
    if (reader.type === NLMSGERR_ATTR_MSG) text = reader.string();
    else if (reader.type === NLMSGERR_ATTR_OFFS) offset = reader.u32();
  }
  return {
    ...rejection,
    ...(text === undefined ? {} : { message: text }),
    ...(offset === undefined ? {} : { offset }),
  };
}
