import { formatIp, type IpFamily, ipBytes } from '../../base/ip.ts';
import { AF_INET, AF_INET6, addressFamily } from '../netlink/address-family.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { readHostU32, writeHostU32 } from '../netlink/byte-order.ts';
import { MESSAGE_HEADER, type NetlinkMessage } from '../netlink/message.ts';

// linux/rtnetlink.h
export const RTM_NEWADDR = 20;
export const RTM_DELADDR = 21;
export const RTM_GETADDR = 22;
export const RTNLGRP_IPV4_IFADDR = 5;
export const RTNLGRP_IPV6_IFADDR = 9;

// linux/if_addr.h; struct ifaddrmsg is family, prefix length, flags, scope (a byte each) and the interface's index.
const IFADDRMSG_LENGTH = 8;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const IFA_FLAGS = 8;
/** Skip duplicate address detection: the IPv6 address is usable at once. */
export const IFA_F_NODAD = 0x02;

/** An address on an interface of this node. */
export interface InterfaceAddress {
  readonly family: IpFamily;
  /** Canonical text, without a zone. */
  readonly ip: string;
  readonly prefixLength: number;
  readonly interfaceIndex: number;
  /** rt_scope: 0 global, 253 link, 254 host. */
  readonly scope: number;
  /** IFA_F_* bits. */
  readonly flags: number;
}

/** What identifies an address to the kernel when it is added or deleted. */
export interface AddressKey {
  /** Canonical text. */
  readonly ip: string;
  readonly prefixLength: number;
  readonly interfaceIndex: number;
}

/** Reads RTM_NEWADDR or RTM_DELADDR; `undefined` for families other than IP. Throws AttributeError when cut off. */
export function decodeAddress(message: NetlinkMessage): InterfaceAddress | undefined {
  const { bytes, start } = message;
  const attributes = message.attributes('address', IFADDRMSG_LENGTH);
  const at = start + MESSAGE_HEADER;
  const familyNumber = bytes[at];
  if (familyNumber !== AF_INET && familyNumber !== AF_INET6) return undefined;
  let flags = bytes[at + 2]!;
  let ip: string | undefined;
  while (attributes.next()) {
    // On a point-to-point interface IFA_ADDRESS is the other end; IFA_LOCAL, where present, is always ours.
    if (attributes.type === IFA_LOCAL) ip = formatIp(attributes.view());
    else if (attributes.type === IFA_ADDRESS) ip ??= formatIp(attributes.view());
    else if (attributes.type === IFA_FLAGS) flags = attributes.u32();
  }
  if (ip === undefined) return undefined;
  return {
    family: familyNumber === AF_INET ? 'IPv4' : 'IPv6',
    ip,
    prefixLength: bytes[at + 1]!,
    interfaceIndex: readHostU32(bytes, at + 4),
    scope: bytes[at + 3]!,
    flags,
  };
}

/** Writes the body of RTM_NEWADDR or RTM_DELADDR. Throws RangeError when the address is not canonical. */
export function encodeAddress(writer: AttributeWriter, address: AddressKey, flags = 0): void {
  const ip = ipBytes(address.ip);
  const at = writer.reserve(IFADDRMSG_LENGTH);
  writer.bytes[at] = ip.length === 4 ? AF_INET : AF_INET6;
  writer.bytes[at + 1] = address.prefixLength;
  writeHostU32(writer.bytes, address.interfaceIndex, at + 4);
  writer.addBytes(IFA_LOCAL, ip);
  writer.addBytes(IFA_ADDRESS, ip);
  if (flags !== 0) writer.addU32(IFA_FLAGS, flags);
}

/** Writes the body of RTM_GETADDR: all addresses, or those of one family. */
export function encodeAddressQuery(writer: AttributeWriter, family?: IpFamily): void {
  const at = writer.reserve(IFADDRMSG_LENGTH);
  if (family !== undefined) writer.bytes[at] = addressFamily(family);
}
