import { NFT_REJECT_ICMP_UNREACH, NFT_REJECT_TCP_RST } from '../expr/reject.ts';
import type { Family } from '../objects.ts';
import type { StatementCodec } from './codec.ts';
/** Answers with ICMP port unreachable, or resets the TCP connection, and drops. */
export interface RejectStatement {
  readonly kind: 'reject';
  /** Default: port unreachable, for every protocol. */
  readonly with?: 'tcp reset';
}

/** ICMP_PORT_UNREACH and ICMPV6_PORT_UNREACH. */
const portUnreachable = (family: Family): number => (family === 'ip' ? 3 : 4);

export const rejectStatementCodec: StatementCodec<RejectStatement> = {
  compile(builder, statement) {
    const reset = statement.with === 'tcp reset';
    builder.emit({
      kind: 'reject',
      type: reset ? NFT_REJECT_TCP_RST : NFT_REJECT_ICMP_UNREACH,
      code: reset ? 0 : portUnreachable(builder.family),
    });
  },

  recognize(cursor) {
    const reject = cursor.take('reject');
    if (reject?.type === NFT_REJECT_TCP_RST) return { kind: 'reject', with: 'tcp reset' };
    const plain = reject?.type === NFT_REJECT_ICMP_UNREACH && reject.code === portUnreachable(cursor.family);
    return plain ? { kind: 'reject' } : undefined;
  },

  text: (statement) => (statement.with === undefined ? 'reject' : `reject with ${statement.with}`),
};
