import { FairleadError } from '../../base/fairlead-error.ts';

export type IptablesErrorDetail =
  /** The program is not installed or may not be run. */
  | { readonly code: 'IPTABLES_NOT_STARTED'; readonly program: string; readonly reason: string }
  /** Another process held the xtables lock for longer than we wait. Try again. */
  | { readonly code: 'IPTABLES_LOCK_HELD'; readonly program: string; readonly message: string }
  /** The program did not end in time, or was killed. */
  | { readonly code: 'IPTABLES_KILLED'; readonly program: string; readonly signal: string }
  /** The program or the kernel refused the input. */
  | {
      readonly code: 'IPTABLES_REFUSED';
      readonly program: string;
      readonly exitStatus: number;
      /** What the program printed, all of it up to a bound. */
      readonly message: string;
      /** Lines of the input that it named, first line 1. Empty where it named none. */
      readonly lines: readonly number[];
      /** Chains that it named. */
      readonly chains: readonly string[];
    };

/** An iptables program failed. */
export class IptablesError extends FairleadError<IptablesErrorDetail> {}

/** The error for a program that ended with a status other than 0. `output` is what it printed. */
export function iptablesFailure(program: string, exitStatus: number, output: string): IptablesError {
  const message = output.trim();
  if (exitStatus === 4 && /xtables lock/.test(message)) {
    return new IptablesError({ code: 'IPTABLES_LOCK_HELD', program, message }, `${program}: ${message}`);
  }
  const lines = numbersOf(message);
  const chains = chainsOf(message);
  return new IptablesError(
    { code: 'IPTABLES_REFUSED', program, exitStatus, message, lines, chains },
    `${program} ended with status ${exitStatus}: ${message === '' ? 'no message' : shortened(message)}`,
  );
}

/** One refused table may make a line for each of its rules; a log line need not hold them all. */
function shortened(message: string): string {
  return message.length > 1000 ? `${message.slice(0, 1000)} …` : message;
}

/** Whether an error says that a rule, chain or table was not there. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof IptablesError &&
    error.detail.code === 'IPTABLES_REFUSED' &&
    absentTexts.some((text) => (error.detail as { message: string }).message.includes(text))
  );
}

/** Whether an error says that the program or the kernel did not take the input. */
export function isRefusal(error: unknown): boolean {
  return error instanceof IptablesError && error.detail.code === 'IPTABLES_REFUSED';
}

/** Whether an error says that the program is not installed, or may not be run. */
export function isNotInstalled(error: unknown): boolean {
  return error instanceof IptablesError && error.detail.code === 'IPTABLES_NOT_STARTED';
}

/** Whether an error says only that another process held the xtables lock for longer than we wait. */
export function isLockHeld(error: unknown): boolean {
  return error instanceof IptablesError && error.detail.code === 'IPTABLES_LOCK_HELD';
}

/** Texts of the programs, old and new, of both back-ends (spec B.4). */
const absentTexts = [
  'No chain/target/match by that name',
  'No such file or directory',
  'does a matching rule exist',
  'does not exist',
];

/** `line 7: RULE_APPEND failed …`, `line 7 failed`, `Error occurred at line: 7`. */
function numbersOf(message: string): readonly number[] {
  const numbers = new Set<number>();
  for (const match of message.matchAll(/\bline:? (\d+)/g)) numbers.add(Number(match[1]));
  return [...numbers];
}

/** `rule in chain X`, ``Chain 'X' does not exist``, ``Couldn't load target `X'``. */
function chainsOf(message: string): readonly string[] {
  const chains = new Set<string>();
  for (const match of message.matchAll(/(?:[Cc]hain|target) [`']?([^\s`',:]+)/g)) chains.add(match[1]!);
  return [...chains];
}
