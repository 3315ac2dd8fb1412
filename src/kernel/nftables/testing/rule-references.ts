import type { Rule } from '../objects.ts';
import { verdictChain } from '../verdict.ts';

/** Names of the sets a rule uses. */
export function ruleSets(rule: Rule): string[] {
  const names: string[] = [];
  for (const statement of rule.statements) {
    if (statement.kind === 'match' && typeof statement.right === 'object' && 'set' in statement.right) {
      names.push(statement.right.set);
    } else if (statement.kind === 'vmap' && 'set' in statement.map) names.push(statement.map.set);
    else if (statement.kind === 'update') names.push(statement.set);
    else if (statement.kind === 'dnat' && 'key' in statement.to && 'set' in statement.to.map) {
      names.push(statement.to.map.set);
    }
  }
  return names;
}

/** Names of the chains a rule itself leads to. */
export function ruleChains(rule: Rule): string[] {
  const names: string[] = [];
  for (const statement of rule.statements) {
    const verdicts =
      statement.kind === 'verdict'
        ? [statement.verdict]
        : statement.kind === 'vmap' && 'verdicts' in statement.map
          ? statement.map.verdicts.map(([, verdict]) => verdict)
          : [];
    for (const verdict of verdicts) {
      const chain = verdictChain(verdict);
      if (chain !== undefined) names.push(chain);
    }
  }
  return names;
}
