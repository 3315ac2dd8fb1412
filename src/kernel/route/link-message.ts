import { AF_UNSPEC } from '../netlink/address-family.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { readHostI32, readHostU32, writeHostU32 } from '../netlink/byte-order.ts';
import { MESSAGE_HEADER, type NetlinkMessage } from '../netlink/message.ts';

// linux/rtnetlink.h
export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_GETLINK = 18;

// linux/if_link.h, linux/if.h; struct ifinfomsg is family, padding, type (16 bits), index, flags, change mask.
const IFINFOMSG_LENGTH = 16;
const IFLA_IFNAME = 3;
const IFLA_LINKINFO = 18;
const IFLA_INFO_KIND = 1;
const IFF_UP = 1;

/** A network interface. */
export interface Link {
  readonly index: number;
  readonly name: string;
  /** Administratively up (IFF_UP). */
  readonly isUp: boolean;
  /** IFF_* bits. */
  readonly flags: number;
  /** Driver kind such as `dummy`, `veth` or `bridge`; hardware and loopback have none. */
  readonly kind?: string;
}

/**
 * Reads RTM_NEWLINK or RTM_DELLINK; `undefined` for what a protocol says about an interface (a bridge sends
 * RTM_DELLINK with its own family when a port leaves it). Throws AttributeError when cut off.
 */
export function decodeLink(message: NetlinkMessage): Link | undefined {
  const { bytes, start } = message;
  if (bytes[start + MESSAGE_HEADER] !== AF_UNSPEC) return undefined;
  const attributes = message.attributes('link', IFINFOMSG_LENGTH);
  const at = start + MESSAGE_HEADER;
  let name = '';
  let kind: string | undefined;
  while (attributes.next()) {
    if (attributes.type === IFLA_IFNAME) name = attributes.string();
    else if (attributes.type === IFLA_LINKINFO) {
      const nested = attributes.nested('linkinfo');
      while (nested.next()) if (nested.type === IFLA_INFO_KIND) kind = nested.string();
    }
  }
  const flags = readHostU32(bytes, at + 8);
  const link = { index: readHostI32(bytes, at + 4), name, isUp: (flags & IFF_UP) !== 0, flags };
  return kind === undefined ? link : { ...link, kind };
}

/** Writes the body of RTM_NEWLINK for a new interface of a kind that needs no further data, e.g. `dummy`. */
export function encodeNewLink(writer: AttributeWriter, name: string, kind: string): void {
  writer.reserve(IFINFOMSG_LENGTH);
  writer.addString(IFLA_IFNAME, name);
  const token = writer.beginNested(IFLA_LINKINFO, 'linkinfo');
  // The kernel compares the kind without a terminating NUL, and takes it with one too.
  writer.addString(IFLA_INFO_KIND, kind);
  writer.endNested(token);
}

/** Writes the body of a message about one interface, found by name. */
export function encodeLinkByName(writer: AttributeWriter, name: string): void {
  writer.reserve(IFINFOMSG_LENGTH);
  writer.addString(IFLA_IFNAME, name);
}

/** Writes the body of RTM_NEWLINK that takes an interface up or down. */
export function encodeLinkState(writer: AttributeWriter, index: number, isUp: boolean): void {
  const at = writer.reserve(IFINFOMSG_LENGTH);
  writeHostU32(writer.bytes, index, at + 4);
  writeHostU32(writer.bytes, isUp ? IFF_UP : 0, at + 8);
  writeHostU32(writer.bytes, IFF_UP, at + 12);
}

/** Writes the body of RTM_GETLINK for all interfaces. */
export function encodeLinkQuery(writer: AttributeWriter): void {
  writer.reserve(IFINFOMSG_LENGTH);
}
