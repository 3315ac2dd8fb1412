import {
  type Cidr,
  cidrContains,
  familyOf,
  type IpFamily,
  isLoopback,
  parseCidr,
  parseIp,
} from '../base/ip.ts';

/** The addresses of this node that accept NodePort connections, for one family (operations 3.3, spec A.6.2). */
export interface NodePortAddresses {
  readonly family: IpFamily;
  /** All addresses of the family, those that appear later included. */
  readonly matchAll: boolean;
  /** What to match; with `matchAll` the one network of prefix length 0. */
  readonly cidrs: readonly Cidr[];
  /** Whether 127.0.0.1 may be among the addresses; always false for IPv6. */
  readonly containsIPv4Loopback: boolean;
  /** Those of the given addresses (of all interfaces, both families) that accept NodePorts: canonical, each once, in order. */
  select(interfaceAddresses: readonly string[]): string[];
}

/**
 * Reads the configured CIDRs, `primary` already resolved (see `node-ips.ts`). Entries of the other family and such that
 * do not parse do not count; a family without any entry accepts on all of its addresses.
 */
export function nodePortAddresses(family: IpFamily, configured: readonly string[]): NodePortAddresses {
  const everything: Cidr = { family, address: family === 'IPv4' ? '0.0.0.0' : '::', prefixLength: 0 };
  const own = configured
    .map((text) => ({ text, cidr: parseCidr(text) }))
    .filter((entry): entry is { text: string; cidr: Cidr } => entry.cidr?.family === family);
  const zero = own.findIndex(({ cidr }) => cidr.prefixLength === 0);
  const matchAll = own.length === 0 || zero >= 0;
  // The scan ends at a network of prefix length 0, which counts alone.
  const scanned = zero >= 0 ? own.slice(0, zero + 1) : own;
  const cidrs = matchAll ? [everything] : own.map(({ cidr }) => cidr);
  return {
    family,
    matchAll,
    cidrs,
    containsIPv4Loopback:
      family === 'IPv4' &&
      (own.length === 0 || scanned.some(({ text, cidr }) => reachesLoopback(text, cidr))),
    select(interfaceAddresses) {
      const selected = new Set<string>();
      for (const address of interfaceAddresses) {
        const ip = parseIp(address);
        if (ip === undefined || familyOf(ip) !== family) continue;
        if (matchAll || cidrs.some((cidr) => cidrContains(cidr, ip))) selected.add(ip);
      }
      return [...selected];
    },
  };
}

function reachesLoopback(text: string, cidr: Cidr): boolean {
  const base = parseIp(text.slice(0, text.indexOf('/')));
  return (
    (base !== undefined && isLoopback(base)) || isLoopback(cidr.address) || cidrContains(cidr, '127.0.0.0')
  );
}
