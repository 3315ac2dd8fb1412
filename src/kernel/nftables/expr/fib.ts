import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Looks an address up in the routing table. `result` and `flags` are the kernel's nft_fib_result and nft_fib_flags. */
export interface FibExpr {
  readonly kind: 'fib';
  readonly result: number;
  readonly flags: number;
  readonly dreg: Slot;
}

export const NFT_FIB_RESULT_ADDRTYPE = 3;
export const NFTA_FIB_F_SADDR = 1;
export const NFTA_FIB_F_DADDR = 2;

const NFTA_FIB_DREG = 1;
const NFTA_FIB_RESULT = 2;
const NFTA_FIB_FLAGS = 3;

export const fibCodec: ExprCodec<FibExpr> = {
  name: 'fib',
  encode(writer, expr) {
    writer.addU32be(NFTA_FIB_FLAGS, expr.flags);
    writer.addU32be(NFTA_FIB_RESULT, expr.result);
    writer.addU32be(NFTA_FIB_DREG, registerNumber(expr.dreg));
  },
  decode(reader) {
    let result = 0;
    let flags = 0;
    let dreg: number | undefined;
    while (reader.next()) {
      if (reader.type === NFTA_FIB_FLAGS) flags = reader.u32be();
      else if (reader.type === NFTA_FIB_RESULT) result = reader.u32be();
      else if (reader.type === NFTA_FIB_DREG) dreg = registerSlot(reader.u32be());
    }
    return dreg === undefined ? undefined : { kind: 'fib', result, flags, dreg };
  },
};
