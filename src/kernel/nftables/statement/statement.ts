import type { Expr } from '../expr/expr.ts';
import type { Family } from '../objects.ts';
import type { StatementCodec } from './codec.ts';
import { type CounterStatement, counterCodec } from './counter.ts';
import { type DnatStatement, dnatCodec } from './dnat.ts';
import { type AnonymousResolver, ExprCursor } from './expr-cursor.ts';
import { type MarkStatement, markCodec } from './mark.ts';
import { type MasqueradeStatement, masqueradeCodec } from './masquerade.ts';
import { type MatchStatement, matchCodec } from './match.ts';
import { type RejectStatement, rejectStatementCodec } from './reject.ts';
import type { RuleBuilder } from './rule-builder.ts';
import { type UnknownStatement, unknownCodec } from './unknown.ts';
import { type UpdateStatement, updateCodec } from './update.ts';
import { type VerdictStatement, verdictCodec } from './verdict-statement.ts';
import { type VmapStatement, vmapCodec } from './vmap.ts';

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

/** The codec of every kind, in the order in which recognisers are tried; `unknown` takes what is left. */
export const STATEMENT_CODECS: {
  readonly [Kind in Statement['kind']]: StatementCodec<Extract<Statement, { kind: Kind }>>;
} = {
  mark: markCodec,
  verdict: verdictCodec,
  dnat: dnatCodec,
  vmap: vmapCodec,
  update: updateCodec,
  match: matchCodec,
  counter: counterCodec,
  reject: rejectStatementCodec,
  masquerade: masqueradeCodec,
  unknown: unknownCodec,
};

const IN_ORDER = Object.values(STATEMENT_CODECS) as StatementCodec<Statement>[];

const codecOf = (statement: Statement): StatementCodec<Statement> =>
  STATEMENT_CODECS[statement.kind] as StatementCodec<Statement>;

/** Appends the expressions of statements. Throws NftablesError (NFT_VALUE_INVALID). */
export function compileStatements(builder: RuleBuilder, statements: readonly Statement[]): void {
  for (const statement of statements) codecOf(statement).compile(builder, statement);
}

/** The statements a rule's expressions came from. Nothing is dropped: what is not recognised becomes `unknown`. */
export function recognizeStatements(
  family: Family,
  exprs: readonly Expr[],
  resolve: AnonymousResolver,
): Statement[] {
  const cursor = new ExprCursor(family, exprs, resolve);
  const statements: Statement[] = [];
  while (!cursor.done) {
    const start = cursor.index;
    for (const codec of IN_ORDER) {
      cursor.index = start;
      const statement = codec.recognize(cursor);
      if (statement === undefined) continue;
      statements.push(statement);
      break;
    }
  }
  return statements;
}

/** Statements in nft syntax. Throws NftablesError (NFT_VALUE_INVALID). */
export const statementsText = (statements: readonly Statement[], family: Family): string =>
  statements.map((statement) => codecOf(statement).text(statement, family)).join(' ');
