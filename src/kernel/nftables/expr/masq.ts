import type { ExprCodec } from './codec.ts';

/** Masquerades the connection. */
export interface MasqExpr {
  readonly kind: 'masq';
  /** NF_NAT_RANGE_* bits, linux/netfilter/nf_nat.h. */
  readonly flags: number;
}

const NFTA_MASQ_FLAGS = 1;

export const masqCodec: ExprCodec<MasqExpr> = {
  name: 'masq',
  encode(writer, expr) {
    if (expr.flags !== 0) writer.addU32be(NFTA_MASQ_FLAGS, expr.flags);
  },
  decode(reader) {
    let flags = 0;
    while (reader.next()) {
      if (reader.type === NFTA_MASQ_FLAGS) flags = reader.u32be();
      // Port ranges.
      else return undefined;
    }
    return { kind: 'masq', flags };
  },
};
