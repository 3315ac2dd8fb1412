import { cidrContains, formatCidr } from '../../base/ip.ts';
import { type Endpoint, endpointString } from '../../model/endpoint.ts';
import type { ServicePortPlan } from '../../plan/proxy-plan.ts';
import type { ChainDecisions } from './chain-decisions.ts';
import { probabilityText } from './probability.ts';
import type { RuleContext } from './rule-context.ts';
import { MARK_MASQ_CHAIN } from './top-level-chains.ts';

/** A chain of the nat table that belongs to one ServicePort, with its rules as whole `-A` lines. */
export interface PolicyChain {
  readonly name: string;
  /** The rule that marks for masquerading, where there is one; it comes first in the chain. */
  readonly masquerade: string;
  readonly rules: string;
}

/** Number of rules in the chains that {@link policyChains} makes. */
export function policyRuleCount(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
): number {
  const port = plan.servicePort;
  const perEndpoint = port.affinityTimeoutSeconds > 0 ? 2 : 1;
  let count = 2 * decisions.endpoints.length;
  if (masqueradesClusterIP(decisions, context)) count++;
  if (decisions.usesExternalChain) {
    if (!port.externalPolicyLocal) count++;
    else count += context.localTraffic === undefined ? 2 : 3;
    if (decisions.external === 'forward') count++;
  }
  if (decisions.usesFirewallChain) {
    count += port.loadBalancerSourceRanges.length + 1;
    if (coversNode(plan, context)) count += decisions.loadBalancerIPs.length;
  }
  if (decisions.usesClusterChain) count += perEndpoint * plan.cluster.length;
  if (decisions.usesLocalChain) count += perEndpoint * plan.local.length;
  return count;
}

/** The chains that one ServicePort has for itself, as {@link ChainDecisions} say (spec B.1.7, 6 to 11). */
export function policyChains(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
): PolicyChain[] {
  const chains: PolicyChain[] = [];
  if (decisions.usesExternalChain) {
    const rules = externalRules(plan, decisions, context);
    chains.push({ name: decisions.externalChain, masquerade: '', rules });
  }
  if (decisions.usesFirewallChain) {
    chains.push({
      name: decisions.firewallChain,
      masquerade: '',
      rules: sourceRangeRules(plan, decisions, context),
    });
  }
  const masquerade = clusterIPMasquerade(plan, decisions, context);
  const names = new Map(decisions.endpoints.map((endpoint, at) => [endpoint, decisions.endpointChains[at]!]));
  const spread = (chain: string, endpoints: readonly Endpoint[]) => {
    chains.push({
      name: chain,
      masquerade: chain === decisions.internalChain ? masquerade : '',
      rules: spreadRules(plan, decisions, context, chain, endpoints, names),
    });
  };
  if (decisions.usesClusterChain) spread(decisions.clusterChain, plan.cluster);
  if (decisions.usesLocalChain) spread(decisions.localChain, plan.local);
  for (const [endpoint, name] of names) {
    chains.push({ name, masquerade: '', rules: endpointRules(plan, decisions, context, name, endpoint) });
  }
  return chains;
}

function masqueradesClusterIP(decisions: ChainDecisions, context: RuleContext): boolean {
  return (
    decisions.clusterIP !== undefined &&
    decisions.internal === 'forward' &&
    (context.masqueradeAll || context.localTraffic !== undefined)
  );
}

function clusterIPMasquerade(plan: ServicePortPlan, decisions: ChainDecisions, context: RuleContext): string {
  if (!masqueradesClusterIP(decisions, context)) return '';
  const from = context.masqueradeAll ? '' : `${context.localTraffic!.isNot} `;
  const to = `${decisions.protocol} -d ${decisions.clusterIP} --dport ${plan.servicePort.port}`;
  return `-A ${decisions.internalChain} -m comment --comment "${decisions.name} cluster IP" ${to} ${from}-j ${MARK_MASQ_CHAIN}\n`;
}

function externalRules(plan: ServicePortPlan, decisions: ChainDecisions, context: RuleContext): string {
  const { name, externalChain, clusterChain } = decisions;
  const rule = (comment: string, rest: string) =>
    `-A ${externalChain} -m comment --comment "${comment} for ${name} external destinations" ${rest}\n`;
  let rules = '';
  if (!plan.servicePort.externalPolicyLocal) {
    rules += rule('masquerade traffic', `-j ${MARK_MASQ_CHAIN}`);
  } else {
    // Pods and processes of this node need not keep their address nor stay on the node.
    if (context.localTraffic !== undefined)
      rules += rule('pod traffic', `${context.localTraffic.is} -j ${clusterChain}`);
    rules += rule('masquerade LOCAL traffic', `-m addrtype --src-type LOCAL -j ${MARK_MASQ_CHAIN}`);
    rules += rule('route LOCAL traffic', `-m addrtype --src-type LOCAL -j ${clusterChain}`);
  }
  if (decisions.external === 'forward') rules += `-A ${externalChain} -j ${decisions.externalPolicyChain}\n`;
  return rules;
}

/** A process of this node that uses a load-balancer address may have that address as its source (spec B.1.9). */
function coversNode(plan: ServicePortPlan, context: RuleContext): boolean {
  return plan.servicePort.loadBalancerSourceRanges.some((range) => cidrContains(range, context.nodeIP));
}

function sourceRangeRules(plan: ServicePortPlan, decisions: ChainDecisions, context: RuleContext): string {
  const { name, firewallChain, externalChain } = decisions;
  const sources = plan.servicePort.loadBalancerSourceRanges.map(formatCidr);
  if (coversNode(plan, context)) sources.push(...decisions.loadBalancerIPs);
  let rules = '';
  for (const source of sources)
    rules += `-A ${firewallChain} -m comment --comment "${name} loadbalancer IP" -s ${source} -j ${externalChain}\n`;
  return `${rules}-A ${firewallChain} -m comment --comment "other traffic to ${name} will be dropped by KUBE-PROXY-FIREWALL"\n`;
}

function spreadRules(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
  chain: string,
  endpoints: readonly Endpoint[],
  names: ReadonlyMap<Endpoint, string>,
): string {
  const lead = (endpoint: Endpoint) =>
    context.endpointComments
      ? `-A ${chain} -m comment --comment "${decisions.name} -> ${endpointString(endpoint)}"`
      : `-A ${chain}`;
  const seconds = plan.servicePort.affinityTimeoutSeconds;
  let rules = '';
  if (seconds > 0) {
    for (const endpoint of endpoints) {
      const to = names.get(endpoint)!;
      rules += `${lead(endpoint)} -m recent --name ${to} --rcheck --seconds ${seconds} --reap -j ${to}\n`;
    }
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const left = endpoints.length - index;
    const chance = left > 1 ? ` -m statistic --mode random --probability ${probabilityText(left)}` : '';
    rules += `${lead(endpoint)}${chance} -j ${names.get(endpoint)}\n`;
  }
  return rules;
}

function endpointRules(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
  chain: string,
  endpoint: Endpoint,
): string {
  const lead = context.endpointComments
    ? `-A ${chain} -m comment --comment ${decisions.name}`
    : `-A ${chain}`;
  const remember = plan.servicePort.affinityTimeoutSeconds > 0 ? ` -m recent --name ${chain} --set` : '';
  return (
    `${lead} -s ${endpoint.ip} -j ${MARK_MASQ_CHAIN}\n` +
    `${lead}${remember} ${decisions.protocol} -j DNAT --to-destination ${endpointString(endpoint)}\n`
  );
}
