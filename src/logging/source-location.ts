/** Where in the source a line was logged. */
export interface SourceLocation {
  /** File name without directory, e.g. `reflector.ts`. */
  readonly file: string;
  readonly line: number;
}

const unknownLocation: SourceLocation = { file: '???', line: 1 };

/**
 * The caller of `above`, which must be on the stack. Costs a few microseconds: only for lines that are printed, or while
 * `--vmodule` makes the file decide.
 */
export function callerOf(above: (...args: never[]) => unknown): SourceLocation {
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, above);
  Error.stackTraceLimit = limit;
  const match = /([^/\\()\s]+):([0-9]+):[0-9]+\)?$/.exec(holder.stack ?? '');
  return match === null ? unknownLocation : { file: match[1] ?? '???', line: Number(match[2]) };
}
