import type { Family } from '../objects.ts';
import type { ExprCursor } from './expr-cursor.ts';
import type { RuleBuilder } from './rule-builder.ts';

/** The three forms of one kind of statement: kernel expressions, the way back, and nft syntax. */
export interface StatementCodec<Statement> {
  /** Appends expressions. Throws NftablesError for values that are none. */
  compile(builder: RuleBuilder, statement: Statement): void;
  /** Reads a statement from the cursor; `undefined` when what is there is of another kind. The caller rewinds. */
  recognize(cursor: ExprCursor): Statement | undefined;
  /** nft syntax, readable by `nft -f`. Throws NftablesError for values that are none. */
  text(statement: Statement, family: Family): string;
}
