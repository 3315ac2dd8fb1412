import type { Logger } from '../../base/logger.ts';
import type { Iptables, TableSurvey } from '../../kernel/iptables/iptables.ts';
import { isServicePortChain } from './chain-names.ts';
import { findCulprits } from './culprits.ts';
import { ProgrammedState } from './programmed-state.ts';
import { deletionBlocks, type Segment, textOf } from './restore-input.ts';
import {
  baseChainJumps,
  CANARY_CHAIN,
  FIREWALL_CHAIN,
  jumpArguments,
  ownChains,
} from './top-level-chains.ts';

/** Most chains in one transaction of the nft back-end; see README.md, "Large rule sets". */
export const NFT_CHAINS_PER_BLOCK = 600;

export function chainsPerBlock(iptables: Iptables): number {
  return iptables.backend === 'nft' ? NFT_CHAINS_PER_BLOCK : Number.POSITIVE_INFINITY;
}

/**
 * Removes what this mode and kube-proxy's have ever created in one family and back-end (spec B.4): jumps, chains of
 * ServicePorts, top-level chains, canaries. KUBE-FIREWALL is kubelet's as well and stays with its jumps. Steps that
 * fail do not keep others from being done; their errors are returned. Nothing to remove is no error.
 */
export async function cleanupIptables(iptables: Iptables, logger: Logger): Promise<readonly unknown[]> {
  const survey = await iptables.survey();
  if (!hasLeftovers(survey)) return [];
  const errors: unknown[] = [];
  const attempt = async (action: () => Promise<void>) => {
    try {
      await action();
    } catch (error) {
      errors.push(error);
      logger.error('cannot remove all iptables rules', error, { family: iptables.family });
    }
  };
  // Tables that do not exist are not touched: that would create them.
  const has = (table: string) => survey.chains.has(table);
  for (const jump of baseChainJumps) {
    if (jump.to === FIREWALL_CHAIN || !has(jump.table)) continue;
    await attempt(async () => {
      while (await iptables.destroyRule(jump.table, jump.from, jumpArguments(jump)));
    });
  }
  for (const table of ['nat', 'filter'] as const) {
    if (!has(table)) continue;
    await attempt(async () => {
      errors.push(...(await removeChains(iptables, table, logger)));
    });
  }
  if (has('mangle')) await attempt(() => iptables.destroyChain('mangle', CANARY_CHAIN));
  return errors;
}

/** Whether any chain that {@link cleanupIptables} would remove is there. */
export function hasLeftovers({ chains }: TableSurvey): boolean {
  const some = (table: string, isOurs: (chain: string) => boolean) =>
    chains.get(table)?.some(isOurs) ?? false;
  return (
    some('nat', (chain) => isLeftover('nat', chain)) ||
    some('filter', (chain) => isLeftover('filter', chain)) ||
    some('mangle', (chain) => chain === CANARY_CHAIN)
  );
}

/** Chains of kube-proxy before 1.24. */
const formerChain = /^KUBE-XLB-[A-Z2-7]{16}$/;

function isLeftover(table: 'nat' | 'filter', chain: string): boolean {
  return (
    ownChains[table].includes(chain) ||
    (table === 'nat' && (isServicePortChain(chain) || formerChain.test(chain)))
  );
}

/** Chains that a foreign rule leads to are emptied and stay; the errors say so. */
async function removeChains(
  iptables: Iptables,
  table: 'nat' | 'filter',
  logger: Logger,
): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  let chains = (await iptables.listChains(table)).filter((chain) => isLeftover(table, chain));
  const kept = new Set<string>();
  while (chains.length > 0) {
    const segments = (): Iterable<Segment> => deletionBlocks(table, chains, chainsPerBlock(iptables), kept);
    try {
      await iptables.restore(textOf(segments()), table);
      break;
    } catch (error) {
      const undeletable = findCulprits(error, segments(), new ProgrammedState())?.undeletable ?? [];
      if (undeletable.length === 0) throw error;
      errors.push(error);
      logger.warn('chain is in use by somebody else and stays', { table, chains: undeletable });
      for (const chain of undeletable) kept.add(chain);
      // Blocks before the refused one are done.
      const present = new Set(await iptables.listChains(table));
      chains = chains.filter((chain) => present.has(chain));
    }
  }
  return errors;
}
