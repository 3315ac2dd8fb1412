import { familyOf, type IpFamily, isLoopback, parseIp } from '../base/ip.ts';
import type { NodeAddress } from '../kube/node.ts';

/** The addresses of this node as the proxy sees them: loopback where nothing is known. Canonical text. */
export interface NodeIps {
  readonly primaryFamily: IpFamily;
  readonly IPv4: string;
  readonly IPv6: string;
}

/**
 * The IPs of a Node object: type InternalIP before ExternalIP, each in the order given, unparsable ones skipped; the first,
 * which is the primary, and the first of the other family (operations 3.2).
 */
export function nodeObjectIps(addresses: readonly NodeAddress[]): string[] {
  const ips = ['InternalIP', 'ExternalIP'].flatMap((type) =>
    addresses.filter((address) => address.type === type).flatMap((address) => parseIp(address.address) ?? []),
  );
  const primary = ips[0];
  if (primary === undefined) return [];
  const secondary = ips.find((ip) => familyOf(ip) !== familyOf(primary));
  return secondary === undefined ? [primary] : [primary, secondary];
}

/**
 * Settles primary family and node IPs (operations 3.3): loopback, then the IPs of the Node object of which the first decides, then
 * `bindAddress`, which replaces the IP of its family and makes that family primary unless it is unspecified.
 */
export function determineNodeIps(nodeIps: readonly string[], bindAddress: string): NodeIps {
  const ips: Record<IpFamily, string> = { IPv4: '127.0.0.1', IPv6: '::1' };
  let primaryFamily: IpFamily = 'IPv4';
  const known = nodeIps.flatMap((text) => parseIp(text) ?? []);
  const first = known[0];
  if (first !== undefined) primaryFamily = familyOf(first);
  for (const ip of known.toReversed()) ips[familyOf(ip)] = ip;
  const bind = parseIp(bindAddress);
  if (bind !== undefined && bind !== '0.0.0.0' && bind !== '::') {
    primaryFamily = familyOf(bind);
    ips[primaryFamily] = bind;
  }
  return { primaryFamily, ...ips };
}

/**
 * `nodePortAddresses` with the word `primary` replaced by the node IPs that are known (operations 3.3). None known leaves the list
 * empty, which means all addresses.
 */
export function resolvePrimaryNodePortAddresses(
  configured: readonly string[],
  ips: NodeIps,
): readonly string[] {
  if (configured.length !== 1 || configured[0] !== 'primary') return configured;
  return [
    ...(isLoopback(ips.IPv4) ? [] : [`${ips.IPv4}/32`]),
    ...(isLoopback(ips.IPv6) ? [] : [`${ips.IPv6}/128`]),
  ];
}
