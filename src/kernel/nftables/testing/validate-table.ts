import { EOPNOTSUPP } from '../../native/errno.ts';
import type { BaseChain, Rule } from '../objects.ts';
import { verdictChain } from '../verdict.ts';
import { type FakeTable, Refusal } from './fake-table.ts';
import { ruleChains } from './rule-references.ts';

const EMLINK = 31;
/** NFT_JUMP_STACK_SIZE. */
const MAX_DEPTH = 16;

/**
 * What the kernel checks before it commits: from each base chain no loop is reachable and jumps are less than 16 deep
 * (EMLINK for both), and statements stand where they work: masquerade in nat postrouting, dnat in nat prerouting and output, reject
 * in input, forward, output and (since Linux 5.9) prerouting.
 */
export function validateTable(table: FakeTable): void {
  for (const { chain } of table.chains.values()) {
    if (chain.base !== undefined) walk(table, chain.name, chain.base, [], new Set());
  }
}

function walk(
  table: FakeTable,
  name: string,
  base: BaseChain,
  path: readonly string[],
  seen: Set<string>,
): void {
  if (path.includes(name)) throw new Refusal(EMLINK, `chain ${name} leads back to itself`);
  if (path.length >= MAX_DEPTH)
    throw new Refusal(EMLINK, `chain ${name} is more than ${MAX_DEPTH} jumps deep`);
  // The same chain at the same depth cannot show anything new.
  const visit = `${name} ${path.length}`;
  if (seen.has(visit)) return;
  seen.add(visit);
  const deeper = [...path, name];
  for (const rule of table.chains.get(name)?.rules ?? []) {
    checkPlace(rule, base);
    for (const target of [...ruleChains(rule), ...mapTargets(table, rule)]) {
      walk(table, target, base, deeper, seen);
    }
  }
}

function mapTargets(table: FakeTable, rule: Rule): Set<string> {
  const targets = new Set<string>();
  for (const statement of rule.statements) {
    if (statement.kind !== 'vmap' || !('set' in statement.map)) continue;
    for (const element of table.sets.get(statement.map.set)?.elements.values() ?? []) {
      const verdict = element.verdicts?.[0];
      const target = verdict && verdictChain(verdict);
      if (target !== undefined) targets.add(target);
    }
  }
  return targets;
}

function checkPlace(rule: Rule, { type, hook }: BaseChain): void {
  for (const { kind } of rule.statements) {
    const wrong =
      (kind === 'masquerade' && (type !== 'nat' || hook !== 'postrouting')) ||
      (kind === 'dnat' && (type !== 'nat' || (hook !== 'prerouting' && hook !== 'output'))) ||
      (kind === 'reject' && hook === 'postrouting');
    if (wrong) throw new Refusal(EOPNOTSUPP, `${kind} in a ${type} chain at ${hook}`);
  }
}
