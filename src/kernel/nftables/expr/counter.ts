import type { ExprCodec } from './codec.ts';

/** Counts what passes. */
export interface CounterExpr {
  readonly kind: 'counter';
  readonly packets: bigint;
  readonly bytes: bigint;
}

const NFTA_COUNTER_BYTES = 1;
const NFTA_COUNTER_PACKETS = 2;

export const counterCodec: ExprCodec<CounterExpr> = {
  name: 'counter',
  encode(writer, expr) {
    writer.addU64be(NFTA_COUNTER_BYTES, expr.bytes);
    writer.addU64be(NFTA_COUNTER_PACKETS, expr.packets);
  },
  decode(reader) {
    let packets = 0n;
    let bytes = 0n;
    while (reader.next()) {
      if (reader.type === NFTA_COUNTER_PACKETS) packets = reader.u64be();
      else if (reader.type === NFTA_COUNTER_BYTES) bytes = reader.u64be();
    }
    return { kind: 'counter', packets, bytes };
  },
};
