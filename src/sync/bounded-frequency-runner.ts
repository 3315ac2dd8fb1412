import type { Clock, Timer } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';

/** Node fires timers with a longer delay at once. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

/** All in milliseconds (operations 6.1). */
export interface RunnerIntervals {
  /** From the end of one run to the start of the next. */
  readonly min: number;
  /** From the end of a failed run to the next, unless one is asked for earlier; capped by `max`. */
  readonly retry: number;
  /** From the end of a run to the next, even when nobody asks. */
  readonly max: number;
}

/**
 * Runs one function again and again, but neither too often nor too seldom (operations 6.2). Requests that come while a run
 * is due or in progress are merged into one. Runs never overlap.
 *
 * The function may be asynchronous; a throw or a rejection counts as a failed run, is logged, and never ends the loop.
 */
export class BoundedFrequencyRunner {
  readonly #name: string;
  readonly #intervals: RunnerIntervals;
  readonly #execute: () => Promise<void> | void;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #loop: { readonly stopped: () => void } | undefined;
  #requested = false;
  #running = false;
  #stopped = false;
  #lastEnd: number | undefined;
  /** When the next run is due without a request: the max or the retry interval. */
  #due = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  /** Throws RangeError for intervals that cannot be kept: negative ones, or a minimum above the maximum. */
  constructor(
    options: {
      readonly name: string;
      readonly intervals: RunnerIntervals;
      readonly run: () => Promise<void> | void;
    },
    dependencies: { readonly clock: Clock; readonly logger: Logger },
  ) {
    const { min, retry, max } = options.intervals;
    if (!(min >= 0 && retry >= 0 && max >= min)) {
      throw new RangeError(
        `runner ${options.name}: min ${min}, retry ${retry}, max ${max} ms cannot be kept`,
      );
    }
    this.#name = options.name;
    this.#intervals = options.intervals;
    this.#execute = options.run;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
  }

  /**
   * Begins to run; the first request is served at once, the first run without one comes after the max interval.
   * Resolves when `signal` is aborted and the run in progress, if any, has ended. To be called once.
   */
  start(signal: AbortSignal): Promise<void> {
    if (this.#loop !== undefined) throw new Error(`runner ${this.#name} has been started before`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#loop = { stopped: resolve };
    this.#due = this.#clock.monotonic() + this.#intervals.max;
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
    else this.#next();
    return promise;
  }

  /** Asks for a run as soon as the min interval allows. Never blocks; works before `start`, for when it comes. */
  run(): void {
    this.#requested = true;
    this.#next();
  }

  #stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#running) this.#loop?.stopped();
  }

  /** Starts the run that is due, or arms the timer for the next one. */
  #next(): void {
    if (this.#loop === undefined || this.#stopped || this.#running) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const wait = this.#nextStart() - this.#clock.monotonic();
    if (wait <= 0) {
      void this.#runOnce();
      return;
    }
    this.#timer = this.#clock.schedule(Math.min(wait, MAX_TIMER_MILLISECONDS), () => {
      this.#timer = undefined;
      this.#next();
    });
  }

  #nextStart(): number {
    const now = this.#clock.monotonic();
    const earliest = this.#lastEnd === undefined ? now : this.#lastEnd + this.#intervals.min;
    return this.#requested ? earliest : Math.max(earliest, this.#due);
  }

  async #runOnce(): Promise<void> {
    this.#running = true;
    // Requests of the same turn of the event loop (a burst of API events) belong to this run.
    await undefined;
    if (!this.#stopped) {
      this.#requested = false;
      const failed = await this.#executeSafely();
      this.#lastEnd = this.#clock.monotonic();
      const { retry, max } = this.#intervals;
      this.#due = this.#lastEnd + (failed ? Math.min(retry, max) : max);
    }
    this.#running = false;
    if (this.#stopped) this.#loop?.stopped();
    else this.#next();
  }

  async #executeSafely(): Promise<boolean> {
    try {
      await this.#execute();
      return false;
    } catch (error) {
      this.#logger.error('Run failed', error, { runner: this.#name });
      return true;
    }
  }
}
