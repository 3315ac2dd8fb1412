import type { DataType } from './data-type.ts';
import type { PackedElements } from './packed-elements.ts';
import type { Selector } from './selector/selector.ts';
import type { Statement } from './statement/statement.ts';

/**
 * The nouns of nf_tables as plain values. They carry neither family nor table: a {@link Transaction} and a
 * {@link TableListing} are about one table. `undefined` is unset, `0` is a value.
 *
 * Comments are kept as user data that nft shows; those longer than 127 bytes are cut at a character.
 */

/** Families of tables: IPv4 and IPv6 packets. */
export type Family = 'ip' | 'ip6';

export interface Table {
  readonly kind: 'table';
  readonly comment?: string;
  /** Its base chains are not hooked in. Adding the table without it wakes it; base chains cannot be added with that. */
  readonly dormant?: boolean;
  /**
   * It belongs to the socket that adds it: nobody else can change it, `flush ruleset` leaves it alone, and it goes when the
   * socket is closed. Since Linux 5.12; older kernels refuse it.
   */
  readonly owner?: boolean;
}

/** A chain that is called by rules, or, with `base`, by the network stack. */
export interface Chain {
  readonly kind: 'chain';
  readonly name: string;
  readonly base?: BaseChain;
  readonly comment?: string;
}

/** Where a base chain is hooked in. A smaller priority runs earlier. */
export interface BaseChain {
  readonly type: 'filter' | 'nat' | 'route';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  /** Default: accept. */
  readonly policy?: 'accept' | 'drop';
}

export interface Rule {
  readonly kind: 'rule';
  readonly chain: string;
  readonly statements: readonly Statement[];
  readonly comment?: string;
  /** Given by the kernel; needed to delete this one rule. */
  readonly handle?: bigint;
}

/**
 * The layout of a key or of data: one field, or several as a concatenation. `type` names nft data types, `typeof`
 * names what a rule loads, which nft needs to list fields such as `numgen`.
 */
export type Layout = { readonly type: readonly DataType[] } | { readonly typeof: readonly Selector[] };

/** Flags of a set: `interval` keys are ranges, `dynamic` lets rules add elements, `constant` elements never change. */
export type SetFlag = 'constant' | 'interval' | 'timeout' | 'dynamic';

interface SetCommon {
  readonly name: string;
  readonly key: Layout;
  readonly flags?: readonly SetFlag[];
  /** Default life time of elements in milliseconds; needs the flag `timeout`. */
  readonly timeoutMs?: number;
  /**
   * Most elements the set can hold. The kernel sizes its hash table by it up front, and refuses more (ENFILE).
   * Without it a set grows as needed, which is what sets with the flag `dynamic` want: a table for 65535 elements takes
   * a megabyte. The kernel limits those to 65535 when the first rule comes that adds to them, and lists it as their size.
   */
  readonly size?: number;
  /** Every element counts its packets and bytes. */
  readonly counter?: boolean;
  readonly comment?: string;
}

/** A set of keys. */
export interface NftSet extends SetCommon {
  readonly kind: 'set';
}

/** Keys with data, or with verdicts. */
export interface NftMap extends SetCommon {
  readonly kind: 'map';
  readonly data: Layout | 'verdict';
}

/** Elements of one set or map; `of` gives the layout by which rows are printed. */
export interface Elements {
  readonly kind: 'elements';
  readonly of: NftSet | NftMap;
  readonly rows: PackedElements;
}

/** Anything a transaction can add. */
export type NftObject = Table | Chain | NftSet | NftMap | Rule | Elements;

/** What names an object for `flush` and `delete`; whole objects fit too. */
export type ObjectName =
  | { readonly kind: 'table' }
  | { readonly kind: 'chain'; readonly name: string }
  | { readonly kind: 'set' | 'map'; readonly name: string }
  | { readonly kind: 'rule'; readonly chain: string; readonly handle: bigint };
