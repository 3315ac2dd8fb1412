import { AttributeWriter } from '../../netlink/attribute-writer.ts';
import type { ExprCodec } from '../expr/codec.ts';
import { EXPR_CODECS, type Expr } from '../expr/expr.ts';
import type { StatementCodec } from './codec.ts';
/** A kernel expression we do not know, kept so that a listed rule never looks smaller than it is. */
export interface UnknownStatement {
  readonly kind: 'unknown';
  /** The kernel's name of the expression. */
  readonly name: string;
  /** Its attributes as received. */
  readonly raw: Uint8Array;
}

export const unknownCodec: StatementCodec<UnknownStatement> = {
  compile(builder, { name, raw }) {
    builder.emit({ kind: 'unknown', name, raw });
  },

  /** Takes whatever comes next, so it has to be tried last. */
  recognize(cursor) {
    const expr = cursor.exprs[cursor.index++];
    if (expr === undefined) return undefined;
    if (expr.kind === 'unknown') return { kind: 'unknown', name: expr.name, raw: expr.raw };
    const codec = EXPR_CODECS[expr.kind] as ExprCodec<Expr>;
    const writer = new AttributeWriter(64);
    codec.encode(writer, expr);
    return { kind: 'unknown', name: codec.name, raw: Buffer.from(writer.finish()) };
  },

  /** No nft syntax: `nft -f` refuses it, which is right for something that was not understood. */
  text: ({ name, raw }) => `[ ${name} ${Buffer.from(raw).toString('hex')} ]`,
};
