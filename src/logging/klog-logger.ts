import type { Clock, Timer } from '../base/clock.ts';
import type { Logger, LogValues } from '../base/logger.ts';
import { formatJson } from './json-format.ts';
import type { LogOutput } from './log-output.ts';
import { errorCodeOf, errorText, logValue } from './log-value.ts';
import { redactText } from './redact.ts';
import { callerOf } from './source-location.ts';
import { formatText, type LogEntry, type Severity } from './text-format.ts';
import { compileVmodule, type VModuleItem } from './vmodule.ts';

export interface LogOptions {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  /** Text format only. */
  readonly vmodule: readonly VModuleItem[];
  /** Milliseconds that buffered lines are held back at most. */
  readonly flushFrequency: number;
}

export interface LogDependencies {
  readonly clock: Clock;
  readonly pid: number;
  /** For info lines and warnings. The same as `errors` unless streams are split. */
  readonly output: LogOutput;
  readonly errors: LogOutput;
}

/** A logger whose verbosity can be changed, and that must be closed so that nothing buffered is lost. */
export interface RootLogger extends Logger {
  /** Level up to which `verbose` prints; may be set while running (`/debug/flags/v`). */
  verbosity: number;
  /** Like `verbose`, but the text format prints the message as it is, for lines that are looked for to the letter. */
  plain(level: number, message: string): void;
  flush(): void;
  /** Flushes and stops the flush timer. Lines logged later are still written, at once. */
  close(): void;
}

/** Shared by a root logger and everything made from it by `with`. */
interface Sink {
  readonly options: LogOptions;
  readonly dependencies: LogDependencies;
  readonly levelOf: (file: string) => number | undefined;
  verbosity: number;
  flushTimer: Timer | undefined;
  closed: boolean;
}

/** A logger that prints like Kubernetes' own components (operations 9.2). */
export function createLogger(options: LogOptions, dependencies: LogDependencies): RootLogger {
  const levelOf = compileVmodule(options.format === 'text' ? options.vmodule : []);
  const sink: Sink = {
    options,
    dependencies,
    levelOf,
    verbosity: options.verbosity,
    flushTimer: undefined,
    closed: false,
  };
  return new KlogRoot(sink);
}

class KlogLogger implements Logger {
  protected readonly sink: Sink;
  readonly #context: LogValues;

  constructor(sink: Sink, context: LogValues) {
    this.sink = sink;
    this.#context = context;
  }

  info(message: string, values?: LogValues): void {
    this.#print(this.info, 'info', 0, message, values);
  }

  verbose(level: number, message: string, values?: LogValues): void {
    if (!this.#prints(level, this.verbose)) return;
    this.#print(this.verbose, 'info', level, message, values);
  }

  plain(level: number, message: string): void {
    if (!this.#prints(level, this.plain)) return;
    this.#print(this.plain, 'info', level, message, {}, undefined, true);
  }

  warn(message: string, values?: LogValues): void {
    this.#print(this.warn, 'warning', 0, message, values);
  }

  error(message: string, error: unknown, values?: LogValues): void {
    this.#print(this.error, 'error', 0, message, values, error);
  }

  enabled(level: number): boolean {
    return this.#prints(level, this.enabled);
  }

  with(values: LogValues): Logger {
    return new KlogLogger(this.sink, { ...this.#context, ...values });
  }

  #prints(level: number, entered: (...args: never[]) => unknown): boolean {
    if (level <= this.sink.verbosity) return true;
    if (this.sink.options.vmodule.length === 0 || this.sink.options.format !== 'text') return false;
    const fileLevel = this.sink.levelOf(callerOf(entered).file);
    return fileLevel !== undefined && level <= fileLevel;
  }

  #print(
    entered: (...args: never[]) => unknown,
    severity: Severity,
    level: number,
    message: string,
    values: LogValues | undefined,
    error?: unknown,
    isPlain = false,
  ): void {
    try {
      const { clock, pid } = this.sink.dependencies;
      const pairs = this.#pairs(values);
      if (severity === 'error' && error !== undefined && error !== null) {
        pairs.unshift(['err', { kind: 'text', text: errorText(error) }]);
        const code = errorCodeOf(error);
        if (code !== undefined) pairs.splice(1, 0, ['code', { kind: 'text', text: code }]);
        if (isBug(error)) pairs.push(['stack', { kind: 'text', text: redactText(error.stack ?? '') }]);
      }
      write(this.sink, {
        severity,
        level,
        time: clock.now(),
        pid,
        source: callerOf(entered),
        message: redactText(message),
        isPlain,
        values: pairs,
      });
    } catch {
      // A line that cannot be printed must not stop the work it reports on.
    }
  }

  #pairs(values: LogValues | undefined): [string, ReturnType<typeof logValue>][] {
    const merged = values === undefined ? this.#context : { ...this.#context, ...values };
    const pairs: [string, ReturnType<typeof logValue>][] = [];
    for (const [key, value] of Object.entries(merged)) {
      if (value !== undefined) pairs.push([key, logValue(key, value)]);
    }
    return pairs;
  }
}

class KlogRoot extends KlogLogger implements RootLogger {
  constructor(sink: Sink) {
    super(sink, {});
  }

  get verbosity(): number {
    return this.sink.verbosity;
  }

  set verbosity(level: number) {
    this.sink.verbosity = level;
  }

  flush(): void {
    flush(this.sink);
  }

  close(): void {
    this.sink.closed = true;
    this.sink.flushTimer?.cancel();
    this.sink.flushTimer = undefined;
    flush(this.sink);
  }
}

/** Errors that no input should be able to cause: where they come from matters more than what they say. */
function isBug(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}

function write(sink: Sink, entry: LogEntry): void {
  const { output, errors, clock } = sink.dependencies;
  const target = entry.severity === 'error' ? errors : output;
  // Keep the order of the two streams: what happened before an error is out before it.
  if (target === errors && output !== errors) output.flush();
  target.write(sink.options.format === 'json' ? formatJson(entry) : formatText(entry));
  if (!target.buffers) return;
  if (sink.closed) target.flush();
  else if (sink.flushTimer === undefined) {
    sink.flushTimer = clock.schedule(sink.options.flushFrequency, () => {
      sink.flushTimer = undefined;
      output.flush();
    });
  }
}

function flush(sink: Sink): void {
  sink.dependencies.output.flush();
  sink.dependencies.errors.flush();
}
