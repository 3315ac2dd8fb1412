import { invalidValue } from '../nftables-error.ts';
import { isVerdict, type Verdict } from '../verdict.ts';
import type { StatementCodec } from './codec.ts';

/** Ends the rule: `drop`, `accept`, `jump services`, … */
export interface VerdictStatement {
  readonly kind: 'verdict';
  readonly verdict: Verdict;
}

export const verdictCodec: StatementCodec<VerdictStatement> = {
  compile(builder, { verdict }) {
    builder.emit({ kind: 'immediate', verdict: checked(verdict) });
  },

  recognize(cursor) {
    const immediate = cursor.take('immediate');
    if (immediate === undefined || !('verdict' in immediate)) return undefined;
    return { kind: 'verdict', verdict: immediate.verdict };
  },

  text: ({ verdict }) => checked(verdict),
};

function checked(verdict: Verdict): Verdict {
  if (!isVerdict(verdict)) throw invalidValue('verdict', verdict, 'a verdict');
  return verdict;
}
