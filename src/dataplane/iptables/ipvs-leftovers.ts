import type { BaseChainJump } from './top-level-chains.ts';

/** Chains of kube-proxy's ipvs mode that iptables mode has none of the same name of. */
export const ipvsChains: Readonly<Record<'filter' | 'nat', readonly string[]>> = {
  filter: ['KUBE-NODE-PORT', 'KUBE-SOURCE-RANGES-FIREWALL', 'KUBE-IPVS-FILTER', 'KUBE-IPVS-OUT-FILTER'],
  nat: ['KUBE-NODE-PORT', 'KUBE-LOAD-BALANCER'],
};

/** Jumps of the ipvs mode that iptables mode does not have. */
export const ipvsJumps: readonly BaseChainJump[] = [
  ipvsJump('INPUT', 'KUBE-NODE-PORT', 'kubernetes health check rules'),
  ipvsJump('INPUT', 'KUBE-PROXY-FIREWALL', 'kube-proxy firewall rules'),
  ipvsJump('FORWARD', 'KUBE-PROXY-FIREWALL', 'kube-proxy firewall rules'),
  ipvsJump('INPUT', 'KUBE-IPVS-FILTER', 'kubernetes ipvs access filter'),
  ipvsJump('OUTPUT', 'KUBE-IPVS-OUT-FILTER', 'kubernetes ipvs access filter'),
];

function ipvsJump(from: string, to: string, comment: string): BaseChainJump {
  return { table: 'filter', from, to, newOnly: false, comment };
}
