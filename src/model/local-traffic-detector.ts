import { formatCidr, type IpFamily, parseCidr } from '../base/ip.ts';

/**
 * How a packet of a pod on this node is told from others (operations 8, spec A.6.1). Plain data: each mode renders its own match.
 * `none` means that the rules that need the distinction are left out.
 */
export type LocalTrafficDetector =
  | { readonly kind: 'cidr'; readonly cidr: string }
  | { readonly kind: 'bridgeInterface'; readonly name: string }
  | { readonly kind: 'interfaceNamePrefix'; readonly prefix: string }
  | { readonly kind: 'none' };

export interface DetectLocalInput {
  /** `detectLocalMode` of the configuration; a mode that is not known detects nothing. */
  readonly mode: string;
  readonly clusterCIDRs: readonly string[];
  /** `spec.podCIDRs` of the Node. */
  readonly podCIDRs: readonly string[];
  readonly bridgeInterface: string;
  readonly interfaceNamePrefix: string;
}

/** The detector of one family (operations 8.1). CIDRs are put in canonical form; blank and unparsable ones are skipped. */
export function localTrafficDetector(input: DetectLocalInput, family: IpFamily): LocalTrafficDetector {
  switch (input.mode) {
    case 'ClusterCIDR':
      return firstOfFamily(input.clusterCIDRs, family);
    case 'NodeCIDR':
      return firstOfFamily(input.podCIDRs, family);
    case 'BridgeInterface':
      return { kind: 'bridgeInterface', name: input.bridgeInterface };
    case 'InterfaceNamePrefix':
      return { kind: 'interfaceNamePrefix', prefix: input.interfaceNamePrefix };
    default:
      return { kind: 'none' };
  }
}

function firstOfFamily(texts: readonly string[], family: IpFamily): LocalTrafficDetector {
  for (const text of texts) {
    const cidr = parseCidr(text.trim());
    if (cidr?.family === family) return { kind: 'cidr', cidr: formatCidr(cidr) };
  }
  return { kind: 'none' };
}
