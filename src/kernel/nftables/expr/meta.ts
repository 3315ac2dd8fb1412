import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Loads meta data of a packet into `dreg`, or sets it from `sreg`. `key` is the kernel's nft_meta_keys. */
export type MetaExpr =
  | { readonly kind: 'meta'; readonly key: number; readonly dreg: Slot }
  | { readonly kind: 'meta'; readonly key: number; readonly sreg: Slot };

const NFTA_META_DREG = 1;
const NFTA_META_KEY = 2;
const NFTA_META_SREG = 3;

export const metaCodec: ExprCodec<MetaExpr> = {
  name: 'meta',
  encode(writer, expr) {
    writer.addU32be(NFTA_META_KEY, expr.key);
    if ('dreg' in expr) writer.addU32be(NFTA_META_DREG, registerNumber(expr.dreg));
    else writer.addU32be(NFTA_META_SREG, registerNumber(expr.sreg));
  },
  decode(reader) {
    let key = -1;
    let dreg: number | undefined;
    let sreg: number | undefined;
    while (reader.next()) {
      if (reader.type === NFTA_META_KEY) key = reader.u32be();
      else if (reader.type === NFTA_META_DREG) dreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_META_SREG) sreg = registerSlot(reader.u32be());
    }
    if (dreg !== undefined) return { kind: 'meta', key, dreg };
    return sreg === undefined ? undefined : { kind: 'meta', key, sreg };
  },
};
