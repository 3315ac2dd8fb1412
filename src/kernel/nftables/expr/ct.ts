import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Loads a fact about the connection. `key` is the kernel's nft_ct_keys. */
export interface CtExpr {
  readonly kind: 'ct';
  readonly key: number;
  readonly dreg: Slot;
}

const NFTA_CT_DREG = 1;
const NFTA_CT_KEY = 2;

export const ctCodec: ExprCodec<CtExpr> = {
  name: 'ct',
  encode(writer, expr) {
    writer.addU32be(NFTA_CT_KEY, expr.key);
    writer.addU32be(NFTA_CT_DREG, registerNumber(expr.dreg));
  },
  decode(reader) {
    let key = -1;
    let dreg: number | undefined;
    while (reader.next()) {
      if (reader.type === NFTA_CT_KEY) key = reader.u32be();
      else if (reader.type === NFTA_CT_DREG) dreg = registerSlot(reader.u32be());
      // A direction, or a source register that sets instead of loading.
      else return undefined;
    }
    return dreg === undefined ? undefined : { kind: 'ct', key, dreg };
  },
};
