import type { Logger } from '../../base/logger.ts';
import type { Iptables, TableSurvey } from '../../kernel/iptables/iptables.ts';
import { isServicePortChain } from './chain-names.ts';
import { findCulprits } from './culprits.ts';
import { ipvsChains, ipvsJumps } from './ipvs-leftovers.ts';
import { ProgrammedState } from './programmed-state.ts';
import { deletionBlocks, type Segment, textOf } from './restore-input.ts';
import { baseChainJumps, CANARY_CHAIN, FIREWALL_CHAIN, jumpText, ownChains } from './top-level-chains.ts';

/** Most chains in one transaction of the nft back-end; see README.md, "Large rule sets". */
const NFT_CHAINS_PER_BLOCK = 1500;

/** How many chains one transaction of a back-end should name at the most. */
export function chainsPerBlock(iptables: Iptables): number {
  return iptables.backend === 'nft' ? NFT_CHAINS_PER_BLOCK : Number.POSITIVE_INFINITY;
}

/** What to remove: all of kube-proxy's, or only what its ipvs mode has and its iptables mode has not. */
export type CleanupScope = 'all' | 'ipvs mode';

/**
 * Removes what this mode and kube-proxy's have ever created in one family and back-end (spec B.4): jumps, chains of
 * ServicePorts, top-level chains, canaries, and those of its ipvs mode. KUBE-FIREWALL is kubelet's as well and stays with its jumps. Runs a handful
 * of programs, however much there is. A table that fails does not keep others from being done; the errors are returned.
 * Nothing to remove is no error.
 */
export async function cleanupIptables(
  iptables: Iptables,
  logger: Logger,
  scope: CleanupScope = 'all',
): Promise<readonly unknown[]> {
  const survey = await iptables.survey();
  if (!hasLeftovers(survey, scope)) return [];
  const errors: unknown[] = [];
  const attempt = async (action: () => Promise<void>) => {
    try {
      await action();
    } catch (error) {
      errors.push(error);
      logger.error('Cannot remove all iptables rules', error, { ipFamily: iptables.family });
    }
  };
  for (const table of ['nat', 'filter'] as const) {
    await attempt(async () => {
      errors.push(...(await removeFrom({ table, scope }, iptables, survey, logger)));
    });
  }
  if (scope === 'all' && survey.chains.get('mangle')?.includes(CANARY_CHAIN))
    await attempt(() => iptables.destroyChain('mangle', CANARY_CHAIN));
  return errors;
}

/** Whether any chain that {@link cleanupIptables} would remove is there. */
export function hasLeftovers({ chains }: TableSurvey, scope: CleanupScope = 'all'): boolean {
  const some = (table: string, isOurs: (chain: string) => boolean) =>
    chains.get(table)?.some(isOurs) ?? false;
  return (
    some('nat', (chain) => isLeftover({ table: 'nat', scope }, chain)) ||
    some('filter', (chain) => isLeftover({ table: 'filter', scope }, chain)) ||
    (scope === 'all' && some('mangle', (chain) => chain === CANARY_CHAIN))
  );
}

interface TableScope {
  readonly table: 'nat' | 'filter';
  readonly scope: CleanupScope;
}

/** Chains of kube-proxy before 1.24. */
const formerChain = /^KUBE-XLB-[A-Z2-7]{16}$/;

function isLeftover({ table, scope }: TableScope, chain: string): boolean {
  if (ipvsChains[table].includes(chain)) return true;
  if (scope === 'ipvs mode') return false;
  return (
    ownChains[table].includes(chain) ||
    (table === 'nat' && (isServicePortChain(chain) || formerChain.test(chain)))
  );
}

/** Chains that a foreign rule leads to are emptied and stay; the errors say so. */
async function removeFrom(
  where: TableScope,
  iptables: Iptables,
  survey: TableSurvey,
  logger: Logger,
): Promise<readonly unknown[]> {
  const { table } = where;
  const errors: unknown[] = [];
  const kept = new Set<string>();
  for (let present = survey; ; present = await iptables.survey()) {
    const segments = [...removal(where, present, chainsPerBlock(iptables), kept)];
    if (segments.length === 0) return errors;
    try {
      await iptables.restore(textOf(segments), table);
      return errors;
    } catch (error) {
      const undeletable = findCulprits(error, segments, new ProgrammedState())?.undeletable ?? [];
      if (undeletable.length === 0) throw error;
      errors.push(error);
      logger.warn('A chain is in use by somebody else and stays', { table, chains: undeletable });
      for (const chain of undeletable) kept.add(chain);
      // Blocks before the refused one are done: what is left is looked up again.
    }
  }
}

/** Input that removes what is ours in a table; nothing at all where that is nothing. Absent tables are not touched: that would create them. */
function* removal(
  where: TableScope,
  { chains, builtInRules }: TableSurvey,
  perBlock: number,
  kept: ReadonlySet<string>,
): Generator<Segment> {
  const { table, scope } = where;
  const jumps = new Set(
    [...ipvsJumps, ...(scope === 'all' ? baseChainJumps : [])]
      .filter((jump) => jump.table === table && jump.to !== FIREWALL_CHAIN)
      .map((jump) => `${jump.from} ${jumpText(jump)}`),
  );
  // A jump that is there twice is named twice.
  const present = builtInRules.get(table)?.filter((rule) => jumps.has(rule)) ?? [];
  if (present.length > 0)
    yield { text: `*${table}\n${present.map((rule) => `-D ${rule}\n`).join('')}COMMIT\n` };
  const leftovers = chains.get(table)?.filter((chain) => isLeftover(where, chain)) ?? [];
  yield* deletionBlocks(table, leftovers, perBlock, kept);
}
