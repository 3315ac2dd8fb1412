import type { Iptables } from '../../kernel/iptables/iptables.ts';
import { isRefusal } from '../../kernel/iptables/iptables-error.ts';
import { type BaseChainJump, baseChainJumps, jumpArguments, jumpText } from './top-level-chains.ts';

/**
 * The jumps that are not in place. As a rule all are, and one run of iptables-restore that checks them is enough; only
 * where it objects are they checked one by one.
 */
export async function findMissingJumps(iptables: Iptables): Promise<readonly BaseChainJump[]> {
  try {
    await iptables.restore(checkInput());
    return [];
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const missing: BaseChainJump[] = [];
  for (const jump of baseChainJumps) {
    if (!(await iptables.hasRule(jump.table, jump.from, jumpArguments(jump)))) missing.push(jump);
  }
  return missing;
}

function* checkInput(): Generator<string> {
  for (const table of ['filter', 'nat']) {
    yield `*${table}\n`;
    for (const jump of baseChainJumps) if (jump.table === table) yield `-C ${jump.from} ${jumpText(jump)}\n`;
    yield 'COMMIT\n';
  }
}
