import type { Rule } from '../../kernel/nftables/objects.ts';
import type { Transaction } from '../../kernel/nftables/transaction.ts';
import type { PrivateObjects } from './private-objects.ts';

/** Adds what a ServicePort needs for itself and does not have yet, and rewrites chains whose rules differ. */
export function addPrivate(
  transaction: Transaction,
  before: PrivateObjects | undefined,
  after: PrivateObjects | undefined,
): void {
  if (after === undefined) return;
  const timeouts = new Map(before?.sets.map((set) => [set.name, set.timeoutMs]));
  for (const set of after.sets) if (timeouts.get(set.name) !== set.timeoutMs) transaction.add(set);
  const known = new Set(before?.chains.map((chain) => chain.name));
  for (const chain of after.chains) if (!known.has(chain.name)) transaction.add(chain);
  const rulesBefore = rulesByChain(before?.rules ?? []);
  const rulesAfter = rulesByChain(after.rules);
  for (const { name } of after.chains) {
    const rules = rulesAfter.get(name) ?? [];
    // Also a chain that is new to this ServicePort may be there still, waiting to be deleted.
    if (known.has(name) && JSON.stringify(rules) === JSON.stringify(rulesBefore.get(name) ?? [])) continue;
    transaction.flush({ kind: 'chain', name });
    for (const rule of rules) transaction.add(rule);
  }
}

/** Empties the chains that are no longer needed, deletes the sets, and returns the chains. */
export function removePrivate(
  transaction: Transaction,
  before: PrivateObjects | undefined,
  after: PrivateObjects | undefined,
  live: ReadonlySet<string>,
): readonly string[] {
  if (before === undefined) return [];
  const gone = before.chains.map((chain) => chain.name).filter((name) => !live.has(name));
  for (const name of gone) transaction.flush({ kind: 'chain', name });
  const kept = new Set(after?.sets.map((set) => set.name));
  for (const { kind, name } of before.sets) if (!kept.has(name)) transaction.delete({ kind, name });
  return gone;
}

function rulesByChain(rules: readonly Rule[]): Map<string, Rule[]> {
  const byChain = new Map<string, Rule[]>();
  for (const rule of rules) {
    const list = byChain.get(rule.chain);
    if (list === undefined) byChain.set(rule.chain, [rule]);
    else list.push(rule);
  }
  return byChain;
}
