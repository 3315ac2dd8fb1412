import { countLines } from './programmed-port.ts';
import type { ProgrammedState } from './programmed-state.ts';
import type { RuleContext } from './rule-context.ts';
import { firewallRules, forwardRules, masqueradeRules, nodePortDispatchRules } from './static-rules.ts';

/** Numbers of rules for the metrics `sync_proxy_rules_iptables_total` and `…_last` (spec B.6). */
export interface IptablesRuleCounts {
  readonly filter: { readonly total: number; readonly last: number };
  readonly nat: { readonly total: number; readonly last: number };
}

/** Rules of ours in each table, and those written in the last sync; without `written` that was all of them. */
export function ruleCounts(
  state: ProgrammedState,
  context: RuleContext,
  written?: { readonly filter: number; readonly nat: number },
): IptablesRuleCounts {
  const filter = state.totals.filterRules + countLines(firewallRules(context) + forwardRules(context));
  const nat = state.totals.natRules + countLines(masqueradeRules(context) + nodePortDispatchRules(context));
  return {
    filter: { total: filter, last: written?.filter ?? filter },
    nat: { total: nat, last: written?.nat ?? nat },
  };
}
