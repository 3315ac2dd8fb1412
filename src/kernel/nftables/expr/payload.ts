import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Loads bytes of a header. `base`: 0 link layer, 1 network, 2 transport header. */
export interface PayloadExpr {
  readonly kind: 'payload';
  readonly base: number;
  readonly offset: number;
  readonly length: number;
  readonly dreg: Slot;
}

export const NFT_PAYLOAD_NETWORK_HEADER = 1;
export const NFT_PAYLOAD_TRANSPORT_HEADER = 2;

const NFTA_PAYLOAD_DREG = 1;
const NFTA_PAYLOAD_BASE = 2;
const NFTA_PAYLOAD_OFFSET = 3;
const NFTA_PAYLOAD_LEN = 4;

export const payloadCodec: ExprCodec<PayloadExpr> = {
  name: 'payload',
  encode(writer, expr) {
    writer.addU32be(NFTA_PAYLOAD_DREG, registerNumber(expr.dreg));
    writer.addU32be(NFTA_PAYLOAD_BASE, expr.base);
    writer.addU32be(NFTA_PAYLOAD_OFFSET, expr.offset);
    writer.addU32be(NFTA_PAYLOAD_LEN, expr.length);
  },
  decode(reader) {
    let dreg: number | undefined;
    let base = 0;
    let offset = 0;
    let length = 0;
    while (reader.next()) {
      if (reader.type === NFTA_PAYLOAD_DREG) dreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_PAYLOAD_BASE) base = reader.u32be();
      else if (reader.type === NFTA_PAYLOAD_OFFSET) offset = reader.u32be();
      else if (reader.type === NFTA_PAYLOAD_LEN) length = reader.u32be();
      // A source register makes it a write to the packet.
      else return undefined;
    }
    return dreg === undefined ? undefined : { kind: 'payload', base, offset, length, dreg };
  },
};
