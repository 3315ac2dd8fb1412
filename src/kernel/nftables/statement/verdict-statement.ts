import type { Verdict } from '../verdict.ts';

/** Ends the rule: `drop`, `accept`, `jump services`, … */
export interface VerdictStatement {
  readonly kind: 'verdict';
  readonly verdict: Verdict;
}
