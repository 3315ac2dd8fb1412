import type { ServicePortPlan } from '../../plan/proxy-plan.ts';
import { type ChainDecisions, decideChains } from './chain-decisions.ts';
import { type FrontendRules, frontendRules } from './frontend-rules.ts';
import { policyRuleCount } from './policy-chains.ts';
import type { RuleContext } from './rule-context.ts';
import { frontendChainKeys, frontendChains } from './top-level-chains.ts';

/**
 * One ServicePort as it is programmed. The rules in shared chains are kept as text, since those chains are rewritten
 * and edited for others' sake too; the ServicePort's own chains are rendered anew when needed.
 */
export interface ProgrammedPort {
  readonly plan: ServicePortPlan;
  readonly context: RuleContext;
  readonly decisions: ChainDecisions;
  readonly frontends: FrontendRules;
  readonly counts: PortCounts;
}

/** What one ServicePort adds to the metrics. */
export interface PortCounts {
  readonly filterRules: number;
  readonly natRules: number;
  readonly endpoints: number;
}

/** Decides on the chains of a ServicePort, writes its rules, and counts them. */
export function programPort(plan: ServicePortPlan, context: RuleContext): ProgrammedPort {
  const decisions = decideChains(plan);
  const frontends = frontendRules(plan, decisions, context);
  return { plan, context, decisions, frontends, counts: portCounts(plan, decisions, context, frontends) };
}

function portCounts(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
  frontends: FrontendRules,
): PortCounts {
  let filterRules = 0;
  let natRules = policyRuleCount(plan, decisions, context);
  for (const key of frontendChainKeys) {
    const lines = countLines(frontends[key]);
    if (frontendChains[key].table === 'filter') filterRules += lines;
    else natRules += lines;
  }
  return {
    filterRules,
    natRules,
    endpoints: plan.endpoints.length,
  };
}

/** Number of line ends. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
