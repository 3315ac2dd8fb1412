import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Makes a number below `modulus` plus `offset`; `mode`: 0 counts up, 1 is random. */
export interface NumgenExpr {
  readonly kind: 'numgen';
  readonly mode: number;
  readonly modulus: number;
  readonly offset: number;
  readonly dreg: Slot;
}

const NFTA_NG_DREG = 1;
const NFTA_NG_MODULUS = 2;
const NFTA_NG_TYPE = 3;
const NFTA_NG_OFFSET = 4;

export const numgenCodec: ExprCodec<NumgenExpr> = {
  name: 'numgen',
  encode(writer, expr) {
    if (expr.modulus < 1) writer.fail('a modulus of at least 1 is needed', 'modulus');
    writer.addU32be(NFTA_NG_DREG, registerNumber(expr.dreg));
    writer.addU32be(NFTA_NG_MODULUS, expr.modulus);
    writer.addU32be(NFTA_NG_TYPE, expr.mode);
    writer.addU32be(NFTA_NG_OFFSET, expr.offset);
  },
  decode(reader) {
    let mode = 0;
    let modulus = 0;
    let offset = 0;
    let dreg: number | undefined;
    while (reader.next()) {
      if (reader.type === NFTA_NG_TYPE) mode = reader.u32be();
      else if (reader.type === NFTA_NG_MODULUS) modulus = reader.u32be();
      else if (reader.type === NFTA_NG_OFFSET) offset = reader.u32be();
      else if (reader.type === NFTA_NG_DREG) dreg = registerSlot(reader.u32be());
    }
    return dreg === undefined ? undefined : { kind: 'numgen', mode, modulus, offset, dreg };
  },
};
