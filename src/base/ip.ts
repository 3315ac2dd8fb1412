/** The two address families a node may have; the spelling is that of `spec.ipFamilies`. */
export type IpFamily = 'IPv4' | 'IPv6';

/** A network in canonical form: host bits cleared, address as {@link formatIp} prints it. */
export interface Cidr {
  readonly family: IpFamily;
  readonly address: string;
  readonly prefixLength: number;
}

/**
 * Reads an address the way Kubernetes does ("sloppy", spec A.1.3): IPv4 octets may have leading zeros and are
 * decimal; an IPv4-mapped IPv6 address is IPv4; no surrounding blanks, no zone.
 * Returns the 4 or 16 bytes in network order, or `undefined` when the text is no address.
 */
export function parseIpBytes(text: string): Uint8Array | undefined {
  if (!text.includes(':')) return parseV4(text);
  const bytes = parseV6(text);
  return bytes !== undefined && isV4Mapped(bytes) ? bytes.slice(12) : bytes;
}

/** Canonical text of an address (dotted quad, or RFC 5952 for IPv6), or `undefined` when it is none. */
export function parseIp(text: string): string | undefined {
  if (isCanonicalV4(text)) return text;
  const bytes = parseIpBytes(text);
  return bytes === undefined ? undefined : formatIp(bytes);
}

/** Family of an address in canonical form. */
export function familyOf(canonicalIp: string): IpFamily {
  return canonicalIp.includes(':') ? 'IPv6' : 'IPv4';
}

/** Bytes of an address that is known to be canonical, e.g. one returned by {@link parseIp}. Throws RangeError otherwise. */
export function ipBytes(canonicalIp: string): Uint8Array {
  const bytes = parseIpBytes(canonicalIp);
  if (bytes === undefined) throw new RangeError(`not an IP address: ${JSON.stringify(canonicalIp)}`);
  return bytes;
}

/** Canonical text of 4 or 16 bytes. Throws RangeError on another length. */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) throw new RangeError(`an IP address has 4 or 16 bytes, not ${bytes.length}`);
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((bytes[i]! << 8) | bytes[i + 1]!);
  const run = longestZeroRun(groups);
  const hex = (part: number[]) => part.map((group) => group.toString(16)).join(':');
  if (run.length < 2) return hex(groups);
  return `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`;
}

/**
 * Reads `address/prefix`; leading zeros in the prefix are allowed and host bits are cleared (spec A.1.3).
 * Returns `undefined` when the text is no network.
 */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const prefix = text.slice(slash + 1);
  const addressText = text.slice(0, slash);
  const bytes = parseIpBytes(addressText);
  if (bytes === undefined || !/^[0-9]+$/.test(prefix)) return undefined;
  let prefixLength = Number(prefix);
  // ::ffff:1.2.3.0/120 is 1.2.3.0/24: the mapped form counts its prefix from the IPv6 address.
  if (bytes.length === 4 && addressText.includes(':')) prefixLength -= 96;
  if (prefixLength < 0 || prefixLength > bytes.length * 8) return undefined;
  const masked = maskBytes(bytes, prefixLength);
  return { family: bytes.length === 4 ? 'IPv4' : 'IPv6', address: formatIp(masked), prefixLength };
}

/** `address/prefix` of a network. */
export function formatCidr(cidr: Cidr): string {
  return `${cidr.address}/${cidr.prefixLength}`;
}

/** Whether an address (canonical text) lies in a network. False across families. */
export function cidrContains(cidr: Cidr, canonicalIp: string): boolean {
  if (familyOf(canonicalIp) !== cidr.family) return false;
  return formatIp(maskBytes(ipBytes(canonicalIp), cidr.prefixLength)) === cidr.address;
}

/** Whether an address is a loopback address: 127.0.0.0/8 or ::1. */
export function isLoopback(canonicalIp: string): boolean {
  return canonicalIp.startsWith('127.') || canonicalIp === '::1';
}

/** `ip:port`, or `[ip]:port` for IPv6. */
export function joinHostPort(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** A copy with all bits behind the prefix cleared. */
function maskBytes(bytes: Uint8Array, prefixLength: number): Uint8Array {
  const masked = bytes.slice();
  for (let i = 0; i < masked.length; i++) {
    const bits = Math.min(8, Math.max(0, prefixLength - i * 8));
    masked[i] = masked[i]! & (0xff00 >> bits);
  }
  return masked;
}

function isCanonicalV4(text: string): boolean {
  const length = text.length;
  if (length < 7 || length > 15) return false;
  let octet = -1;
  let octets = 1;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code === 46) {
      if (octet < 0 || ++octets > 4) return false;
      octet = -1;
    } else {
      if (code < 48 || code > 57 || octet === 0) return false;
      octet = (octet < 0 ? 0 : octet * 10) + code - 48;
      if (octet > 255) return false;
    }
  }
  return octets === 4 && octet >= 0;
}

function parseV4(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(4);
  let octet = -1;
  let index = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 46;
    if (code === 46) {
      if (octet < 0 || index > 3) return undefined;
      bytes[index++] = octet;
      octet = -1;
    } else {
      if (code < 48 || code > 57) return undefined;
      octet = (octet < 0 ? 0 : octet * 10) + code - 48;
      if (octet > 255) return undefined;
    }
  }
  return index === 4 ? bytes : undefined;
}

function parseV6(text: string): Uint8Array | undefined {
  let source = text;
  const tail: number[] = [];
  const lastColon = source.lastIndexOf(':');
  if (source.indexOf('.', lastColon) > 0) {
    const v4 = parseV4(source.slice(lastColon + 1));
    if (v4 === undefined) return undefined;
    tail.push((v4[0]! << 8) | v4[1]!, (v4[2]! << 8) | v4[3]!);
    source = source.slice(0, lastColon + 1);
    // Keep a "::" that ends right before the dotted part; drop a single separating colon.
    if (!source.endsWith('::')) source = source.slice(0, -1);
  }
  const halves = source.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!);
  const rest = halves.length === 2 ? parseGroups(halves[1]!) : [];
  if (head === undefined || rest === undefined) return undefined;
  const given = head.length + rest.length + tail.length;
  if (halves.length === 2 ? given > 7 : given !== 8) return undefined;
  const groups = [...head, ...new Array<number>(8 - given).fill(0), ...rest, ...tail];
  const bytes = new Uint8Array(16);
  for (const [i, group] of groups.entries()) {
    bytes[i * 2] = group >> 8;
    bytes[i * 2 + 1] = group & 0xff;
  }
  return bytes;
}

function parseGroups(text: string): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  for (const part of text.split(':')) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
    groups.push(Number.parseInt(part, 16));
  }
  return groups;
}

function isV4Mapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let i = 0; i < groups.length; i++) {
    let length = 0;
    while (groups[i + length] === 0) length++;
    if (length > best.length) best = { start: i, length };
    i += length;
  }
  return best;
}
