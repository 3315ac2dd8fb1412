import { decodeVerdict, encodeVerdict, type Verdict } from '../verdict.ts';
import { type ExprCodec, NFTA_DATA_VALUE, NFTA_DATA_VERDICT } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Puts a constant into a register, or sets the verdict. */
export type ImmediateExpr =
  | { readonly kind: 'immediate'; readonly dreg: Slot; readonly data: Uint8Array }
  | { readonly kind: 'immediate'; readonly verdict: Verdict };

const NFTA_IMMEDIATE_DREG = 1;
const NFTA_IMMEDIATE_DATA = 2;
const NFT_REG_VERDICT = 0;

export const immediateCodec: ExprCodec<ImmediateExpr> = {
  name: 'immediate',
  encode(writer, expr) {
    const isVerdict = 'verdict' in expr;
    writer.addU32be(NFTA_IMMEDIATE_DREG, isVerdict ? NFT_REG_VERDICT : registerNumber(expr.dreg));
    const data = writer.beginNested(NFTA_IMMEDIATE_DATA, 'data');
    if (isVerdict) {
      const verdict = writer.beginNested(NFTA_DATA_VERDICT, 'verdict');
      encodeVerdict(writer, expr.verdict);
      writer.endNested(verdict);
    } else {
      writer.addBytes(NFTA_DATA_VALUE, expr.data);
    }
    writer.endNested(data);
  },
  decode(reader) {
    let dreg = 0;
    let data: Uint8Array | undefined;
    let verdict: Verdict | undefined;
    while (reader.next()) {
      if (reader.type === NFTA_IMMEDIATE_DREG) dreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_IMMEDIATE_DATA) {
        const nested = reader.nested('data');
        while (nested.next()) {
          if (nested.type === NFTA_DATA_VALUE) data = nested.copy();
          else if (nested.type === NFTA_DATA_VERDICT) verdict = decodeVerdict(nested.nested('verdict'));
        }
      }
    }
    if (verdict !== undefined) return { kind: 'immediate', verdict };
    return data === undefined ? undefined : { kind: 'immediate', dreg, data };
  },
};
