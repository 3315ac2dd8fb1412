/** How ports are chosen when addresses are translated. */
export type NatFlag = 'random' | 'fully-random' | 'persistent';

// linux/netfilter/nf_nat.h
const BITS: Readonly<Record<NatFlag, number>> = { random: 4, 'fully-random': 16, persistent: 8 };
const NAMES = Object.keys(BITS) as NatFlag[];

/** NF_NAT_RANGE_* bits of flags. */
export const natFlagBits = (flags: readonly NatFlag[] = []): number =>
  flags.reduce((bits, flag) => bits | BITS[flag], 0);

/** The flags among NF_NAT_RANGE_* bits; those that say which ranges are given are left out. */
export const natFlags = (bits: number): readonly NatFlag[] =>
  NAMES.filter((name) => (bits & BITS[name]) !== 0);

/** Flags behind a statement in nft syntax, in a fixed order. */
export function natFlagsText(flags: readonly NatFlag[] = []): string {
  const sorted = natFlags(natFlagBits(flags));
  return sorted.length === 0 ? '' : ` ${sorted.join(',')}`;
}
