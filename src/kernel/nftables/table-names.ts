import type { BaseChain, Chain, NftMap, NftSet } from './objects.ts';

/**
 * What a table holds, without rules and elements. Sets the kernel named itself (those written in place in rules) are
 * left out.
 */
export interface TableNames {
  /** Its base chains are there but not hooked in. */
  readonly dormant: boolean;
  readonly chains: readonly string[];
  /** Where those among the chains that are base chains are hooked in, by name. */
  readonly baseChains: ReadonlyMap<string, BaseChain>;
  /** Sets and maps as they were declared. */
  readonly sets: readonly (NftSet | NftMap)[];
}

/** The names of these chains and sets. */
export function tableNames(
  chains: readonly Chain[],
  sets: readonly (NftSet | NftMap)[],
  dormant: boolean,
): TableNames {
  const baseChains = new Map<string, BaseChain>();
  for (const { name, base } of chains) if (base !== undefined) baseChains.set(name, base);
  return { dormant, chains: chains.map(({ name }) => name), baseChains, sets };
}
