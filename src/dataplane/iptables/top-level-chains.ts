import type { IptablesTable } from '../../kernel/iptables/iptables.ts';

/** A chain by table and name. */
export interface ChainRef {
  readonly table: 'filter' | 'nat';
  readonly chain: string;
}

/** The chains that hold one rule or a few for each frontend, in the order they are declared (spec B.1.1, B.1.3). */
export const frontendChains = {
  clusterVerdicts: { table: 'filter', chain: 'KUBE-SERVICES' },
  externalVerdicts: { table: 'filter', chain: 'KUBE-EXTERNAL-SERVICES' },
  healthCheckPorts: { table: 'filter', chain: 'KUBE-NODEPORTS' },
  firewall: { table: 'filter', chain: 'KUBE-PROXY-FIREWALL' },
  services: { table: 'nat', chain: 'KUBE-SERVICES' },
  nodePorts: { table: 'nat', chain: 'KUBE-NODEPORTS' },
} as const satisfies Record<string, ChainRef>;

export type FrontendChain = keyof typeof frontendChains;

export const frontendChainKeys = Object.keys(frontendChains) as readonly FrontendChain[];

/** Holds kubelet's and our protection of loopback addresses; never removed. */
export const FIREWALL_CHAIN = 'KUBE-FIREWALL';
export const MARK_MASQ_CHAIN = 'KUBE-MARK-MASQ';
export const POSTROUTING_CHAIN = 'KUBE-POSTROUTING';
export const FORWARD_CHAIN = 'KUBE-FORWARD';
/** Empty; its loss shows that somebody has flushed the tables. */
export const CANARY_CHAIN = 'KUBE-PROXY-CANARY';

/** Chains of ours that are neither a ServicePort's nor shared with kubelet. */
export const ownChains: Readonly<Record<'filter' | 'nat', readonly string[]>> = {
  filter: [
    'KUBE-SERVICES',
    'KUBE-EXTERNAL-SERVICES',
    FORWARD_CHAIN,
    'KUBE-NODEPORTS',
    'KUBE-PROXY-FIREWALL',
    CANARY_CHAIN,
  ],
  nat: ['KUBE-SERVICES', 'KUBE-NODEPORTS', POSTROUTING_CHAIN, MARK_MASQ_CHAIN, CANARY_CHAIN],
};

/** A jump from a built-in chain to one of ours. */
export interface BaseChainJump {
  readonly table: Extract<IptablesTable, 'filter' | 'nat'>;
  readonly from: string;
  readonly to: string;
  /** Only the first packet of a connection. */
  readonly newOnly: boolean;
  readonly comment: string;
}

/** In the order they are put in place, each at the top of its chain (spec B.1.2). */
export const baseChainJumps: readonly BaseChainJump[] = [
  jump('filter', 'INPUT', 'KUBE-EXTERNAL-SERVICES', true, 'kubernetes externally-visible service portals'),
  jump('filter', 'FORWARD', 'KUBE-EXTERNAL-SERVICES', true, 'kubernetes externally-visible service portals'),
  jump('filter', 'INPUT', 'KUBE-NODEPORTS', false, 'kubernetes health check service ports'),
  jump('filter', 'FORWARD', 'KUBE-SERVICES', true, 'kubernetes service portals'),
  jump('filter', 'OUTPUT', 'KUBE-SERVICES', true, 'kubernetes service portals'),
  jump('filter', 'FORWARD', FORWARD_CHAIN, false, 'kubernetes forwarding rules'),
  jump('filter', 'INPUT', 'KUBE-PROXY-FIREWALL', true, 'kubernetes load balancer firewall'),
  jump('filter', 'OUTPUT', 'KUBE-PROXY-FIREWALL', true, 'kubernetes load balancer firewall'),
  jump('filter', 'FORWARD', 'KUBE-PROXY-FIREWALL', true, 'kubernetes load balancer firewall'),
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', false, 'kubernetes service portals'),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', false, 'kubernetes service portals'),
  jump('nat', 'POSTROUTING', POSTROUTING_CHAIN, false, 'kubernetes postrouting rules'),
  jump('filter', 'INPUT', FIREWALL_CHAIN, false, ''),
  jump('filter', 'OUTPUT', FIREWALL_CHAIN, false, ''),
];

function jump(
  table: 'filter' | 'nat',
  from: string,
  to: string,
  newOnly: boolean,
  comment: string,
): BaseChainJump {
  return { table, from, to, newOnly, comment };
}

/** The rule of a jump as arguments of the program. */
export function jumpArguments(jump: BaseChainJump): readonly string[] {
  return [
    ...(jump.newOnly ? ['-m', 'conntrack', '--ctstate', 'NEW'] : []),
    ...(jump.comment === '' ? [] : ['-m', 'comment', '--comment', jump.comment]),
    '-j',
    jump.to,
  ];
}

/** The rule of a jump as text of iptables-restore. */
export function jumpText(jump: BaseChainJump): string {
  return jumpArguments(jump)
    .map((argument) => (argument.includes(' ') ? `"${argument}"` : argument))
    .join(' ');
}
