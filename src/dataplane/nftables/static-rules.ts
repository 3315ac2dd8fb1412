import type { BaseChain, Chain, Rule } from '../../kernel/nftables/objects.ts';
import {
  ctState,
  ctStatus,
  daddr,
  fibDaddrType,
  metaL4proto,
  metaMark,
  saddr,
  thDport,
} from '../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../kernel/nftables/statement/statement.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import {
  jump,
  localTraffic,
  markForMasquerade,
  type NftFamily,
  nftFamily,
  nodePortKey,
  notLocalhost,
  serviceKey,
} from './family-terms.ts';
import { CHAINS, SETS } from './names.ts';

/** Chains that are there whatever Services exist, with their rules in order. */
export interface StaticRuleset {
  readonly chains: readonly Chain[];
  readonly rules: readonly Rule[];
}

/** The base chains and the chains they jump to (spec A3, A4, A5). */
export function staticRuleset(settings: PlanSettings): StaticRuleset {
  const family = nftFamily(settings.family);
  const rules = [
    ...chainRules(
      CHAINS.filterInput,
      newConnections(CHAINS.nodePortEndpointsCheck),
      newConnections(CHAINS.serviceEndpointsCheck),
    ),
    ...chainRules(
      CHAINS.filterForward,
      newConnections(CHAINS.serviceEndpointsCheck),
      newConnections(CHAINS.clusterIPsCheck),
    ),
    ...chainRules(
      CHAINS.filterOutput,
      newConnections(CHAINS.serviceEndpointsCheck),
      newConnections(CHAINS.clusterIPsCheck),
    ),
    ...chainRules(CHAINS.filterPreroutingPreDnat, newConnections(CHAINS.firewallCheck)),
    ...chainRules(CHAINS.filterOutputPreDnat, newConnections(CHAINS.firewallCheck)),
    ...chainRules(CHAINS.natPrerouting, [jump(CHAINS.services)]),
    ...chainRules(CHAINS.natOutput, [jump(CHAINS.services)]),
    ...chainRules(CHAINS.natPostrouting, [jump(CHAINS.masquerading)]),
    ...servicesRules(settings, family),
    ...chainRules(CHAINS.serviceEndpointsCheck, [vmap(serviceKey(family), SETS.noEndpointServices)]),
    ...chainRules(CHAINS.nodePortEndpointsCheck, [
      settings.nodePortAddresses === 'all' ? notLocalhost(family) : inSet(family, SETS.nodePortIPs),
      vmap(nodePortKey, SETS.noEndpointNodePorts),
    ]),
    ...chainRules(CHAINS.firewallCheck, [vmap(serviceKey(family), SETS.firewallIPs)]),
    ...clusterIPsCheckRules(settings, family),
    ...masqueradingRules(settings, family),
    ...chainRules(CHAINS.reject, [{ kind: 'reject' }]),
  ];
  return { chains: [...baseChains, ...regularChains], rules };
}

const base = (name: string, type: BaseChain['type'], hook: BaseChain['hook'], priority: number): Chain => ({
  kind: 'chain',
  name,
  base: { type, hook, priority },
});

const baseChains: readonly Chain[] = [
  base(CHAINS.filterPreroutingPreDnat, 'filter', 'prerouting', -110),
  base(CHAINS.filterOutputPreDnat, 'filter', 'output', -110),
  base(CHAINS.filterInput, 'filter', 'input', 0),
  base(CHAINS.filterForward, 'filter', 'forward', 0),
  base(CHAINS.filterOutput, 'filter', 'output', 0),
  base(CHAINS.natPrerouting, 'nat', 'prerouting', -100),
  base(CHAINS.natOutput, 'nat', 'output', -100),
  base(CHAINS.natPostrouting, 'nat', 'postrouting', 100),
];

const regularChains: readonly Chain[] = [
  { kind: 'chain', name: CHAINS.services },
  { kind: 'chain', name: CHAINS.serviceEndpointsCheck },
  { kind: 'chain', name: CHAINS.nodePortEndpointsCheck },
  { kind: 'chain', name: CHAINS.firewallCheck },
  { kind: 'chain', name: CHAINS.clusterIPsCheck },
  { kind: 'chain', name: CHAINS.masquerading },
  {
    kind: 'chain',
    name: CHAINS.reject,
    comment: 'helper for @no-endpoint-services / @no-endpoint-nodeports',
  },
];

function chainRules(chain: string, ...bodies: (readonly Statement[])[]): Rule[] {
  return bodies.map((statements) => ({ kind: 'rule', chain, statements }));
}

const newConnections = (chain: string): readonly Statement[] => [
  { kind: 'match', left: [ctState], op: '==', right: 'new' },
  jump(chain),
];

const vmap = (key: ReturnType<typeof serviceKey>, map: string): Statement => ({
  kind: 'vmap',
  key,
  map: { set: map },
});

const inSet = (family: NftFamily, set: string): Statement => ({
  kind: 'match',
  left: [daddr(family)],
  op: '==',
  right: { set },
});

function servicesRules(settings: PlanSettings, family: NftFamily): Rule[] {
  const chain = CHAINS.services;
  const toClusterIP = inSet(family, SETS.clusterIPs);
  const mark = markForMasquerade(settings.masqueradeMark);
  const fromOutside = localTraffic(family, settings.localTraffic, '!=');
  const rules: Rule[] = [];
  if (settings.masqueradeAll) {
    rules.push({
      kind: 'rule',
      chain,
      statements: [toClusterIP, mark],
      comment: 'masquerade all clusterIP traffic',
    });
  } else if (fromOutside !== undefined) {
    rules.push({
      kind: 'rule',
      chain,
      statements: [toClusterIP, fromOutside, mark],
      comment: 'masquerade clusterIP traffic from outside cluster',
    });
  }
  const toNodePort: readonly Statement[] =
    settings.nodePortAddresses === 'all'
      ? [{ kind: 'match', left: [fibDaddrType], op: '==', right: 'local' }, notLocalhost(family)]
      : [inSet(family, SETS.nodePortIPs)];
  rules.push(
    ...chainRules(
      chain,
      [vmap(serviceKey(family), SETS.serviceIPs)],
      [...toNodePort, vmap(nodePortKey, SETS.serviceNodePorts)],
    ),
  );
  return rules;
}

function clusterIPsCheckRules(settings: PlanSettings, family: NftFamily): Rule[] {
  const chain = CHAINS.clusterIPsCheck;
  const rules: Rule[] = [
    {
      kind: 'rule',
      chain,
      statements: [inSet(family, SETS.clusterIPs), { kind: 'reject' }],
      comment: 'Reject traffic to invalid ports of ClusterIPs',
    },
  ];
  if (settings.serviceCIDRs.length > 0) {
    rules.push({
      kind: 'rule',
      chain,
      statements: [
        { kind: 'match', left: [daddr(family)], op: '==', right: { values: settings.serviceCIDRs } },
        { kind: 'verdict', verdict: 'drop' },
      ],
      comment: 'Drop traffic to unallocated ClusterIPs',
    });
  }
  return rules;
}

function masqueradingRules(settings: PlanSettings, family: NftFamily): Rule[] {
  const mark = settings.masqueradeMark;
  const masquerade: Statement = { kind: 'masquerade', flags: ['fully-random'] };
  return chainRules(
    CHAINS.masquerading,
    [
      { kind: 'match', left: [metaMark], mask: mark, op: '!=', right: 0 },
      { kind: 'mark', op: 'xor', value: mark },
      masquerade,
    ],
    [
      { kind: 'match', left: [ctStatus], op: '==', right: 'dnat' },
      {
        kind: 'match',
        left: [saddr(family), daddr(family), metaL4proto, thDport],
        op: '==',
        right: { set: SETS.hairpin },
      },
      masquerade,
    ],
  );
}
