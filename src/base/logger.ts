/** Structured pairs of a log line. Values are printed with JSON rules where they are not strings or numbers. */
export type LogValues = Readonly<Record<string, unknown>>;

/**
 * Where log lines go. Levels follow Kubernetes: `info` is always printed, `verbose(n)` from `-v=n` on,
 * `warn` is something an operator may have to act on, `error` is something that failed.
 * Implementations never throw.
 */
export interface Logger {
  info(message: string, values?: LogValues): void;
  verbose(level: number, message: string, values?: LogValues): void;
  warn(message: string, values?: LogValues): void;
  error(message: string, error: unknown, values?: LogValues): void;
  /** Whether `verbose(level)` would print: for callers that would have to compute the values first. */
  enabled(level: number): boolean;
  /** A logger that adds these pairs to each of its lines. */
  with(values: LogValues): Logger;
}

/** Prints nothing. */
export const silentLogger: Logger = {
  info() {},
  verbose() {},
  warn() {},
  error() {},
  enabled: () => false,
  with: () => silentLogger,
};
