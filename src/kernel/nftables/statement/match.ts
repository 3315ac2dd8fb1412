import type { Selector } from '../selector/selector.ts';
import type { AnonymousSet, SetReference } from './set-reference.ts';

/**
 * Compares what `left` loads with a constant, a named set or a set written in place.
 *
 * A constant is spelled as in nft: an address or CIDR, a protocol, connection states such as `established,related`
 * (matched when any is set), an interface name where a trailing `*` stands for any rest, or a number.
 */
export interface MatchStatement {
  readonly kind: 'match';
  readonly left: readonly Selector[];
  /** Only these bits of `left` are compared; for marks. */
  readonly mask?: number;
  readonly op: '==' | '!=';
  readonly right: string | number | SetReference | AnonymousSet;
}
