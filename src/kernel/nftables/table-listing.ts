import type { Chain, Family, NftMap, NftSet, Rule } from './objects.ts';
import type { PackedElements } from './packed-elements.ts';

/** A chain and its rules in order. */
export interface ChainListing {
  readonly chain: Chain;
  readonly rules: readonly Rule[];
}

/** A set or map; `rows` is absent when its elements were not asked for. */
export interface SetListing {
  readonly set: NftSet | NftMap;
  readonly rows?: PackedElements;
}

/** Everything a table holds. Sets written in place are part of the rules they belong to. */
export interface TableListing {
  readonly family: Family;
  readonly table: string;
  readonly comment?: string;
  readonly dormant?: boolean;
  readonly owner?: boolean;
  readonly chains: ReadonlyMap<string, ChainListing>;
  readonly sets: ReadonlyMap<string, SetListing>;
}
