import { addData, type ExprCodec, readData } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** `dreg = (sreg & mask) ^ xor`. */
export interface BitwiseExpr {
  readonly kind: 'bitwise';
  readonly sreg: Slot;
  readonly dreg: Slot;
  readonly mask: Uint8Array;
  readonly xor: Uint8Array;
}

const NFTA_BITWISE_SREG = 1;
const NFTA_BITWISE_DREG = 2;
const NFTA_BITWISE_LEN = 3;
const NFTA_BITWISE_MASK = 4;
const NFTA_BITWISE_XOR = 5;
const NFTA_BITWISE_OP = 6;
const NFT_BITWISE_BOOL = 0;

export const bitwiseCodec: ExprCodec<BitwiseExpr> = {
  name: 'bitwise',
  encode(writer, expr) {
    if (expr.mask.length !== expr.xor.length) writer.fail('mask and xor differ in length');
    writer.addU32be(NFTA_BITWISE_SREG, registerNumber(expr.sreg));
    writer.addU32be(NFTA_BITWISE_DREG, registerNumber(expr.dreg));
    writer.addU32be(NFTA_BITWISE_LEN, expr.mask.length);
    addData(writer, NFTA_BITWISE_MASK, 'mask', expr.mask);
    addData(writer, NFTA_BITWISE_XOR, 'xor', expr.xor);
  },
  decode(reader) {
    let sreg = 0;
    let dreg = 0;
    let mask: Uint8Array = Buffer.alloc(0);
    let xor: Uint8Array = Buffer.alloc(0);
    while (reader.next()) {
      if (reader.type === NFTA_BITWISE_SREG) sreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_BITWISE_DREG) dreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_BITWISE_MASK) mask = readData(reader, 'mask');
      else if (reader.type === NFTA_BITWISE_XOR) xor = readData(reader, 'xor');
      else if (reader.type === NFTA_BITWISE_OP && reader.u32be() !== NFT_BITWISE_BOOL) return undefined;
    }
    return mask.length === xor.length ? { kind: 'bitwise', sreg, dreg, mask, xor } : undefined;
  },
};
