import type { Endpoint } from '../../model/endpoint.ts';
import { printableName } from '../../model/service-port.ts';
import { type FrontendVerdict, frontendVerdict, type ServicePortPlan } from '../../plan/proxy-plan.ts';
import { chainSeed, endpointChainName, policyChainName, servicePortTail } from './chain-names.ts';

/** Which chains a ServicePort gets and what leads to them (spec B.1.6). */
export interface ChainDecisions {
  /** `namespace/name:port`, the name in comments. */
  readonly name: string;
  /** Match of the protocol. */
  readonly protocol: string;
  readonly clusterIP: string | undefined;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** 0 where there is none. */
  readonly nodePort: number;
  readonly internal: FrontendVerdict;
  readonly external: FrontendVerdict;
  readonly clusterChain: string;
  readonly localChain: string;
  readonly externalChain: string;
  readonly firewallChain: string;
  readonly usesClusterChain: boolean;
  readonly usesLocalChain: boolean;
  readonly usesExternalChain: boolean;
  readonly usesFirewallChain: boolean;
  /** Where traffic to the ClusterIP goes. */
  readonly internalChain: string;
  /** Where traffic from outside goes behind the external chain. */
  readonly externalPolicyChain: string;
  /** Where traffic to load-balancer addresses goes. */
  readonly loadBalancerChain: string;
  /** Those with a chain of their own. */
  readonly endpoints: readonly Endpoint[];
  /** Names of their chains, in the same order. */
  readonly endpointChains: readonly string[];
}

export function decideChains(plan: ServicePortPlan): ChainDecisions {
  const port = plan.servicePort;
  const tail = servicePortTail(port);
  let clusterIP: string | undefined;
  let nodePort = 0;
  const externalIPs: string[] = [];
  const loadBalancerIPs: string[] = [];
  for (const frontend of plan.frontends) {
    if (frontend.kind === 'ClusterIP') clusterIP = frontend.ip;
    else if (frontend.kind === 'ExternalIP') externalIPs.push(frontend.ip);
    else if (frontend.kind === 'LoadBalancerIP') {
      loadBalancerIPs.push(frontend.ip);
      // The rule of the external address stands first, and source ranges do not bind it (spec B.1.7, 2a).
      if (frontend.isExternalIP) externalIPs.push(frontend.ip);
    } else nodePort = frontend.port;
  }
  const clusterChain = policyChainName('SVC', tail);
  const localChain = policyChainName('SVL', tail);
  const externalChain = policyChainName('EXT', tail);
  const firewallChain = policyChainName('FW', tail);
  const usesExternalChain =
    plan.hasAnyEndpoints && (nodePort !== 0 || externalIPs.length > 0 || loadBalancerIPs.length > 0);
  const usesFirewallChain =
    plan.hasAnyEndpoints && loadBalancerIPs.length > 0 && port.loadBalancerSourceRanges.length > 0;
  // A chain that nothing leads to is left out, so the question is who would jump there.
  const leadsToCluster = (clusterIP !== undefined && !port.internalPolicyLocal) || usesExternalChain;
  const leadsToLocal =
    (clusterIP !== undefined && port.internalPolicyLocal) || (usesExternalChain && port.externalPolicyLocal);
  const usesClusterChain = leadsToCluster && plan.cluster.length > 0;
  const usesLocalChain = leadsToLocal && plan.local.length > 0;
  const seed = chainSeed(port);
  const endpoints = reached(plan, usesClusterChain, usesLocalChain);
  return {
    name: printableName(port),
    protocol: protocolMatches[port.protocol],
    clusterIP,
    externalIPs,
    loadBalancerIPs,
    nodePort,
    internal: frontendVerdict(plan, 'ClusterIP'),
    external: frontendVerdict(plan, 'NodePort'),
    clusterChain,
    localChain,
    externalChain,
    firewallChain,
    usesClusterChain,
    usesLocalChain,
    usesExternalChain,
    usesFirewallChain,
    internalChain: port.internalPolicyLocal ? localChain : clusterChain,
    externalPolicyChain: port.externalPolicyLocal ? localChain : clusterChain,
    loadBalancerChain: usesFirewallChain ? firewallChain : externalChain,
    endpoints,
    endpointChains: endpoints.map((endpoint) => endpointChainName(seed, endpoint)),
  };
}

/** Names of all chains of the ServicePort, in the order they are declared. */
export function policyChainNames(decisions: ChainDecisions): readonly string[] {
  const names: string[] = [];
  if (decisions.usesExternalChain) names.push(decisions.externalChain);
  if (decisions.usesFirewallChain) names.push(decisions.firewallChain);
  if (decisions.usesClusterChain) names.push(decisions.clusterChain);
  if (decisions.usesLocalChain) names.push(decisions.localChain);
  return names.concat(decisions.endpointChains);
}

function reached(plan: ServicePortPlan, fromCluster: boolean, fromLocal: boolean): readonly Endpoint[] {
  if (fromCluster) return fromLocal ? plan.allReachable : plan.cluster;
  return fromLocal ? plan.local : [];
}

const protocolMatches = { TCP: '-m tcp -p tcp', UDP: '-m udp -p udp', SCTP: '-m sctp -p sctp' } as const;

/**
 * Whether the names of a ServicePort can stand in a rule. Kubernetes allows nothing else; objects from elsewhere must
 * not be able to end a line or a quotation in the input of iptables-restore.
 */
export function hasPlainName(plan: ServicePortPlan): boolean {
  return /^[\w./:-]{1,200}$/.test(printableName(plan.servicePort));
}
