import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Looks the key that starts at `sreg` up in a set; the rule ends here when it is not there (or is, if inverted). */
export interface LookupExpr {
  readonly kind: 'lookup';
  readonly set: string;
  /** Number of a set of the same transaction; only sent, never received. */
  readonly setId?: number;
  readonly sreg: Slot;
  /** Where a map's data goes: a slot, or the verdict register. */
  readonly dreg?: Slot | 'verdict';
  readonly inverted?: boolean;
}

const NFTA_LOOKUP_SET = 1;
const NFTA_LOOKUP_SREG = 2;
const NFTA_LOOKUP_DREG = 3;
const NFTA_LOOKUP_SET_ID = 4;
const NFTA_LOOKUP_FLAGS = 5;
const NFT_LOOKUP_F_INV = 1;
const NFT_REG_VERDICT = 0;

export const lookupCodec: ExprCodec<LookupExpr> = {
  name: 'lookup',
  encode(writer, expr) {
    writer.addU32be(NFTA_LOOKUP_SREG, registerNumber(expr.sreg));
    if (expr.dreg !== undefined) {
      writer.addU32be(
        NFTA_LOOKUP_DREG,
        expr.dreg === 'verdict' ? NFT_REG_VERDICT : registerNumber(expr.dreg),
      );
    }
    writer.addString(NFTA_LOOKUP_SET, expr.set);
    if (expr.setId !== undefined) writer.addU32be(NFTA_LOOKUP_SET_ID, expr.setId);
    if (expr.inverted === true) writer.addU32be(NFTA_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
  },
  decode(reader) {
    let set = '';
    let sreg = 0;
    let dreg: Slot | 'verdict' | undefined;
    let inverted = false;
    while (reader.next()) {
      if (reader.type === NFTA_LOOKUP_SET) set = reader.string();
      else if (reader.type === NFTA_LOOKUP_SREG) sreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_LOOKUP_DREG) {
        const register = reader.u32be();
        dreg = register === NFT_REG_VERDICT ? 'verdict' : registerSlot(register);
      } else if (reader.type === NFTA_LOOKUP_FLAGS) inverted = (reader.u32be() & NFT_LOOKUP_F_INV) !== 0;
    }
    return {
      kind: 'lookup',
      set,
      sreg,
      ...(dreg === undefined ? {} : { dreg }),
      ...(inverted ? { inverted } : {}),
    };
  },
};
