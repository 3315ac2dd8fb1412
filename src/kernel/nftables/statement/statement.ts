import type { CounterStatement } from './counter.ts';
import type { DnatStatement } from './dnat.ts';
import type { MarkStatement } from './mark.ts';
import type { MasqueradeStatement } from './masquerade.ts';
import type { MatchStatement } from './match.ts';
import type { RejectStatement } from './reject.ts';
import type { UnknownStatement } from './unknown.ts';
import type { UpdateStatement } from './update.ts';
import type { VerdictStatement } from './verdict-statement.ts';
import type { VmapStatement } from './vmap.ts';

/** One statement of a rule, in the terms of nft's syntax. A rule runs them from left to right until one does not match. */
export type Statement =
  | MatchStatement
  | VerdictStatement
  | VmapStatement
  | MarkStatement
  | CounterStatement
  | RejectStatement
  | MasqueradeStatement
  | DnatStatement
  | UpdateStatement
  | UnknownStatement;
