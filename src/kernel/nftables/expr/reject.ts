import type { ExprCodec } from './codec.ts';

/** Answers and drops. `type`: 0 ICMP unreachable with `code`, 1 TCP reset. */
export interface RejectExpr {
  readonly kind: 'reject';
  readonly type: number;
  readonly code: number;
}

export const NFT_REJECT_ICMP_UNREACH = 0;
export const NFT_REJECT_TCP_RST = 1;

const NFTA_REJECT_TYPE = 1;
const NFTA_REJECT_ICMP_CODE = 2;

export const rejectCodec: ExprCodec<RejectExpr> = {
  name: 'reject',
  encode(writer, expr) {
    writer.addU32be(NFTA_REJECT_TYPE, expr.type);
    if (expr.type !== NFT_REJECT_TCP_RST) writer.addU8(NFTA_REJECT_ICMP_CODE, expr.code);
  },
  decode(reader) {
    let type = 0;
    let code = 0;
    while (reader.next()) {
      if (reader.type === NFTA_REJECT_TYPE) type = reader.u32be();
      else if (reader.type === NFTA_REJECT_ICMP_CODE) code = reader.u8();
    }
    return { kind: 'reject', type, code };
  },
};
