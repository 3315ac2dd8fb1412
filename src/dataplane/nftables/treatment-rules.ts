import type { Rule } from '../../kernel/nftables/objects.ts';
import { metaL4proto } from '../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../kernel/nftables/statement/statement.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import {
  fromThisNode,
  goto,
  jump,
  localTraffic,
  markForMasquerade,
  nftFamily,
  nodePortKey,
  serviceKey,
  slotKey,
} from './family-terms.ts';
import { SETS } from './names.ts';
import { DRAWS } from './slots.ts';
import type { EndpointPolicy, FrontendScope, Treatment } from './treatment.ts';

/** The rules of a treatment's chain, in order. They depend on the settings, not on any Service. */
export function treatmentRules(treatment: Treatment, settings: PlanSettings): readonly Rule[] {
  const rule = (statements: readonly Statement[], comment?: string): Rule => ({
    kind: 'rule',
    chain: treatment.chain,
    statements,
    ...(comment === undefined ? {} : { comment }),
  });
  switch (treatment.kind) {
    case 'draw':
      return [rule(drawEndpoint(treatment, settings))];
    case 'balance':
      return [
        ...Array.from({ length: DRAWS }, () => rule([jump(treatment.draw.chain)])),
        rule([goto(treatment.lastDraw.chain)]),
      ];
    case 'external':
      return [
        rule([markForMasquerade(settings.masqueradeMark)], 'masquerade'),
        rule([goto(treatment.cluster.chain)]),
      ];
    case 'external-local':
      return externalLocalRules(treatment.cluster.chain, treatment.local?.chain, settings).map(
        ({ statements, comment }) => rule(statements, comment),
      );
  }
}

/** The body of an entry chain for external traffic of policy Local (spec A10), shared and private chains alike. */
export function externalLocalRules(
  clusterChain: string,
  localChain: string | undefined,
  settings: PlanSettings,
): readonly { readonly statements: readonly Statement[]; readonly comment?: string }[] {
  const fromPod = localTraffic(nftFamily(settings.family), settings.localTraffic, '==');
  return [
    ...(fromPod === undefined
      ? []
      : [{ statements: [fromPod, goto(clusterChain)], comment: 'short-circuit pod traffic' }]),
    {
      statements: [fromThisNode, markForMasquerade(settings.masqueradeMark)],
      comment: 'masquerade local traffic',
    },
    { statements: [fromThisNode, goto(clusterChain)], comment: 'short-circuit local traffic' },
    ...(localChain === undefined ? [] : [{ statements: [goto(localChain)] }]),
  ];
}

function drawEndpoint(
  { scope, policy, slots }: Extract<Treatment, { kind: 'draw' }>,
  settings: PlanSettings,
): readonly Statement[] {
  const frontendKey = scope === 'nodeport' ? nodePortKey : serviceKey(nftFamily(settings.family));
  return [
    { kind: 'match', left: [metaL4proto], op: '==', right: { values: ['tcp', 'udp', 'sctp'] } },
    { kind: 'dnat', to: { key: slotKey(frontendKey, slots), map: { set: endpointMap(scope, policy) } } },
  ];
}

function endpointMap(scope: FrontendScope, policy: EndpointPolicy): string {
  if (scope === 'nodeport') {
    return policy === 'local' ? SETS.nodePortLocalEndpoints : SETS.nodePortClusterEndpoints;
  }
  return policy === 'local' ? SETS.localEndpoints : SETS.clusterEndpoints;
}
