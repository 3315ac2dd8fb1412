import type { Expr } from '../expr/expr.ts';
import { NFT_FIB_RESULT_ADDRTYPE, NFTA_FIB_F_DADDR, NFTA_FIB_F_SADDR } from '../expr/fib.ts';
import { NFT_PAYLOAD_NETWORK_HEADER, NFT_PAYLOAD_TRANSPORT_HEADER } from '../expr/payload.ts';
import type { Slot } from '../expr/register.ts';
import { invalidValue } from '../nftables-error.ts';
import type { Family } from '../objects.ts';
import type { Selector } from './selector.ts';
import { selectorText } from './selector-text.ts';

/** Where a header field is. Offsets from RFC 791, RFC 8200, and the ports that TCP, UDP and SCTP share. */
interface FieldPlace {
  readonly family?: Family;
  readonly base: number;
  readonly offset: number;
  readonly length: number;
  readonly selector: Selector;
}

const payload = (header: 'ip' | 'ip6' | 'th', field: string): Selector =>
  ({ kind: 'payload', header, field }) as Selector;

const network = NFT_PAYLOAD_NETWORK_HEADER;
const transport = NFT_PAYLOAD_TRANSPORT_HEADER;

const FIELDS: readonly FieldPlace[] = [
  { family: 'ip', base: network, offset: 9, length: 1, selector: payload('ip', 'protocol') },
  { family: 'ip', base: network, offset: 12, length: 4, selector: payload('ip', 'saddr') },
  { family: 'ip', base: network, offset: 16, length: 4, selector: payload('ip', 'daddr') },
  { family: 'ip6', base: network, offset: 6, length: 1, selector: payload('ip6', 'nexthdr') },
  { family: 'ip6', base: network, offset: 8, length: 16, selector: payload('ip6', 'saddr') },
  { family: 'ip6', base: network, offset: 24, length: 16, selector: payload('ip6', 'daddr') },
  { base: transport, offset: 0, length: 2, selector: payload('th', 'sport') },
  { base: transport, offset: 2, length: 2, selector: payload('th', 'dport') },
];

/** nft_meta_keys and nft_ct_keys, linux/netfilter/nf_tables.h. */
const META_KEYS = { mark: 3, iifname: 6, oifname: 7, nfproto: 15, l4proto: 16 } as const;
const CT_KEYS = { state: 0, direction: 1, status: 2, mark: 3 } as const;

export const NFT_META_MARK = META_KEYS.mark;

const nameOf = <Keys extends Record<string, number>>(keys: Keys, number: number): keyof Keys | undefined =>
  Object.keys(keys).find((name) => keys[name] === number);

/**
 * The expression that loads a selector. `length` loads only the first bytes of a header field, for prefixes.
 * Throws NftablesError when the family's packets have no such field.
 */
export function loadSelector(selector: Selector, family: Family, dreg: Slot, length?: number): Expr {
  switch (selector.kind) {
    case 'payload': {
      const place = FIELDS.find(
        ({ selector: known, family: only }) =>
          known.kind === 'payload' &&
          known.header === selector.header &&
          known.field === selector.field &&
          (only ?? family) === family,
      );
      if (place === undefined) {
        throw invalidValue(
          'selector',
          selectorText(selector),
          `a field of packets in a table of family ${family}`,
        );
      }
      return {
        kind: 'payload',
        base: place.base,
        offset: place.offset,
        length: length ?? place.length,
        dreg,
      };
    }
    case 'meta':
      return { kind: 'meta', key: META_KEYS[selector.key], dreg };
    case 'ct':
      return { kind: 'ct', key: CT_KEYS[selector.key], dreg };
    case 'fib':
      return {
        kind: 'fib',
        result: NFT_FIB_RESULT_ADDRTYPE,
        flags: selector.of === 'saddr' ? NFTA_FIB_F_SADDR : NFTA_FIB_F_DADDR,
        dreg,
      };
    case 'numgen':
      return {
        kind: 'numgen',
        mode: selector.mode === 'random' ? 1 : 0,
        modulus: selector.mod,
        offset: selector.offset ?? 0,
        dreg,
      };
  }
}

/** A selector that an expression loads, where to, and how many of its bytes. */
export interface Load {
  readonly selector: Selector;
  readonly slot: Slot;
  readonly length: number;
}

/** The reverse of {@link loadSelector}; `undefined` for expressions that load something else or nothing. */
export function recognizeLoad(expr: Expr, family: Family): Load | undefined {
  switch (expr.kind) {
    case 'payload': {
      const place = FIELDS.find(
        (field) =>
          field.base === expr.base &&
          field.offset === expr.offset &&
          field.length >= expr.length &&
          (field.family ?? family) === family,
      );
      return place && { selector: place.selector, slot: expr.dreg, length: expr.length };
    }
    case 'meta': {
      const key = 'dreg' in expr ? nameOf(META_KEYS, expr.key) : undefined;
      if (key === undefined || !('dreg' in expr)) return undefined;
      const length = key === 'l4proto' || key === 'nfproto' ? 1 : key === 'mark' ? 4 : 16;
      return { selector: { kind: 'meta', key }, slot: expr.dreg, length };
    }
    case 'ct': {
      const key = nameOf(CT_KEYS, expr.key);
      if (key === undefined) return undefined;
      return { selector: { kind: 'ct', key }, slot: expr.dreg, length: key === 'direction' ? 1 : 4 };
    }
    case 'fib': {
      if (expr.result !== NFT_FIB_RESULT_ADDRTYPE) return undefined;
      const of = ({ [NFTA_FIB_F_SADDR]: 'saddr', [NFTA_FIB_F_DADDR]: 'daddr' } as const)[expr.flags];
      if (of === undefined) return undefined;
      return { selector: { kind: 'fib', of, result: 'type' }, slot: expr.dreg, length: 4 };
    }
    case 'numgen': {
      const { modulus, offset, dreg } = expr;
      const mode = expr.mode === 1 ? 'random' : 'inc';
      const selector = { kind: 'numgen', mode, mod: modulus, ...(offset === 0 ? {} : { offset }) } as const;
      return { selector, slot: dreg, length: 4 };
    }
    default:
      return undefined;
  }
}
