import { decodeTlvs, TlvWriter, tlvU32 } from '../tlv.ts';
import type { Selector } from './selector.ts';

/**
 * How nft remembers in a set's user data what its key is made of, so that it can list it as `typeof …`.
 * Numbers are nft's own (enum expr_types, enum proto_desc_id and header templates of nftables 0.9.4 to 1.1).
 */
const EXPR_PAYLOAD = 7;
const EXPR_META = 9;
const EXPR_CONCAT = 13;
const EXPR_NUMGEN = 23;

const TYPEOF_EXPR = 0;
const TYPEOF_DATA = 1;

const HEADERS = { th: 11, ip: 12, ip6: 13 } as const;
const FIELDS = {
  th: { sport: 1, dport: 2 },
  ip: { protocol: 9, saddr: 11, daddr: 12 },
  ip6: { nexthdr: 6, saddr: 8, daddr: 9 },
} as const;
const META_KEYS = { mark: 3, iifname: 6, oifname: 7, nfproto: 15, l4proto: 16 } as const;

/** What nft remembers of a concatenation whose fields are given by type only. */
export const CONCATENATION: Buffer = describe(EXPR_CONCAT, Buffer.alloc(0));

/** The user data of a list of selectors, or `undefined` when nft has no form for one of them. */
export function encodeTypeof(selectors: readonly Selector[]): Buffer | undefined {
  const parts = selectors.map(encodeOne);
  if (parts.length === 1) return parts[0];
  const list = new TlvWriter();
  for (const [index, part] of parts.entries()) {
    if (part === undefined) return undefined;
    list.bytes(index, part);
  }
  return describe(EXPR_CONCAT, list.finish());
}

/** Reads what {@link encodeTypeof} writes; `undefined` when it describes anything else. */
export function decodeTypeof(data: Buffer): readonly Selector[] | undefined {
  const tlvs = decodeTlvs(data);
  const inner = tlvs?.get(TYPEOF_DATA);
  if (tlvs === undefined || inner === undefined) return undefined;
  if (tlvU32(tlvs, TYPEOF_EXPR) !== EXPR_CONCAT) {
    const selector = decodeOne(data);
    return selector && [selector];
  }
  const parts = decodeTlvs(inner);
  if (parts === undefined || parts.size === 0) return undefined;
  const selectors: Selector[] = [];
  for (let index = 0; index < parts.size; index++) {
    const part = parts.get(index);
    const selector = part && decodeOne(part);
    if (selector === undefined) return undefined;
    selectors.push(selector);
  }
  return selectors;
}

function encodeOne(selector: Selector): Buffer | undefined {
  const data = new TlvWriter();
  switch (selector.kind) {
    case 'payload': {
      const field = (FIELDS[selector.header] as Record<string, number>)[selector.field];
      if (field === undefined) return undefined;
      data.u32(0, HEADERS[selector.header]).u32(1, field);
      return describe(EXPR_PAYLOAD, data.finish());
    }
    case 'meta':
      return describe(EXPR_META, data.u32(0, META_KEYS[selector.key]).finish());
    case 'numgen':
      data
        .u32(0, selector.mode === 'random' ? 1 : 0)
        .u32(1, selector.mod)
        .u32(2, selector.offset ?? 0);
      return describe(EXPR_NUMGEN, data.finish());
    case 'ct':
    case 'fib':
      return undefined;
  }
}

function decodeOne(part: Buffer): Selector | undefined {
  const tlvs = decodeTlvs(part);
  const inner = tlvs?.get(TYPEOF_DATA);
  const data = inner && decodeTlvs(inner);
  if (tlvs === undefined || data === undefined) return undefined;
  const first = tlvU32(data, 0);
  const second = tlvU32(data, 1);
  switch (tlvU32(tlvs, TYPEOF_EXPR)) {
    case EXPR_PAYLOAD: {
      const header = find(HEADERS, first);
      const field = header && find(FIELDS[header] as Record<string, number>, second);
      return field === undefined ? undefined : ({ kind: 'payload', header, field } as Selector);
    }
    case EXPR_META: {
      const key = find(META_KEYS, first);
      return key && { kind: 'meta', key };
    }
    case EXPR_NUMGEN: {
      if (second === undefined) return undefined;
      const offset = tlvU32(data, 2) ?? 0;
      const mode = first === 1 ? 'random' : 'inc';
      return { kind: 'numgen', mode, mod: second, ...(offset === 0 ? {} : { offset }) };
    }
    default:
      return undefined;
  }
}

function describe(expr: number, data: Buffer): Buffer {
  return new TlvWriter().u32(TYPEOF_EXPR, expr).bytes(TYPEOF_DATA, data).finish();
}

function find<Key extends string>(table: Readonly<Record<Key, number>>, value?: number): Key | undefined {
  return (Object.keys(table) as Key[]).find((key) => table[key] === value);
}
