import type { AttributeReader } from '../../netlink/attribute-reader.ts';
import { type AttributeWriter, NLA_F_NESTED } from '../../netlink/attribute-writer.ts';
import { type BitwiseExpr, bitwiseCodec } from './bitwise.ts';
import { type CmpExpr, cmpCodec } from './cmp.ts';
import type { ExprCodec } from './codec.ts';
import { type CounterExpr, counterCodec } from './counter.ts';
import { type CtExpr, ctCodec } from './ct.ts';
import { type DynsetExpr, dynsetCodec } from './dynset.ts';
import { type FibExpr, fibCodec } from './fib.ts';
import { type ImmediateExpr, immediateCodec } from './immediate.ts';
import { type LookupExpr, lookupCodec } from './lookup.ts';
import { type MasqExpr, masqCodec } from './masq.ts';
import { type MetaExpr, metaCodec } from './meta.ts';
import { type NatExpr, natCodec } from './nat.ts';
import { type NumgenExpr, numgenCodec } from './numgen.ts';
import { type PayloadExpr, payloadCodec } from './payload.ts';
import { type RangeExpr, rangeCodec } from './range.ts';
import { type RejectExpr, rejectCodec } from './reject.ts';

/** One instruction of the kernel's rule language. */
export type Expr =
  | PayloadExpr
  | MetaExpr
  | CtExpr
  | FibExpr
  | NumgenExpr
  | CmpExpr
  | RangeExpr
  | BitwiseExpr
  | LookupExpr
  | ImmediateExpr
  | NatExpr
  | MasqExpr
  | RejectExpr
  | DynsetExpr
  | CounterExpr
  | UnknownExpr;

/** An expression without a codec here, or one that uses more than its codec knows; `raw` is NFTA_EXPR_DATA's value. */
export interface UnknownExpr {
  readonly kind: 'unknown';
  readonly name: string;
  readonly raw: Uint8Array;
}

// linux/netfilter/nf_tables.h, enum nft_expr_attributes
const NFTA_EXPR_NAME = 1;
const NFTA_EXPR_DATA = 2;

/** The codec of every kind but `unknown`. */
export const EXPR_CODECS: {
  readonly [Kind in Exclude<Expr['kind'], 'unknown'>]: ExprCodec<Extract<Expr, { kind: Kind }>>;
} = {
  payload: payloadCodec,
  meta: metaCodec,
  ct: ctCodec,
  fib: fibCodec,
  numgen: numgenCodec,
  cmp: cmpCodec,
  range: rangeCodec,
  bitwise: bitwiseCodec,
  lookup: lookupCodec,
  immediate: immediateCodec,
  nat: natCodec,
  masq: masqCodec,
  reject: rejectCodec,
  dynset: dynsetCodec,
  counter: counterCodec,
};

const BY_NAME = new Map<string, ExprCodec<Expr>>(
  Object.values(EXPR_CODECS).map((codec) => [codec.name, codec as ExprCodec<Expr>]),
);

/** Appends NFTA_EXPR_NAME and NFTA_EXPR_DATA. */
export function encodeExpr(writer: AttributeWriter, expr: Expr): void {
  if (expr.kind === 'unknown') {
    writer.addString(NFTA_EXPR_NAME, expr.name);
    writer.addBytes(NFTA_EXPR_DATA | NLA_F_NESTED, expr.raw);
    return;
  }
  const codec = EXPR_CODECS[expr.kind] as ExprCodec<Expr>;
  writer.addString(NFTA_EXPR_NAME, codec.name);
  const data = writer.beginNested(NFTA_EXPR_DATA, expr.kind);
  codec.encode(writer, expr);
  writer.endNested(data);
}

/** Reads what {@link encodeExpr} writes. Never fails on kinds it does not know. */
export function decodeExpr(reader: AttributeReader): Expr {
  let name = '';
  let data: AttributeReader | undefined;
  let raw: Uint8Array = Buffer.alloc(0);
  while (reader.next()) {
    if (reader.type === NFTA_EXPR_NAME) name = reader.string();
    else if (reader.type === NFTA_EXPR_DATA) {
      data = reader.nested(name);
      raw = reader.copy();
    }
  }
  const known = data === undefined ? undefined : BY_NAME.get(name)?.decode(data);
  return known ?? { kind: 'unknown', name, raw };
}
