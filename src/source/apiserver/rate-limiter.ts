import type { Clock } from '../../base/clock.ts';

/**
 * A token bucket as client-go's: `burst` requests at once, `qps` per second after that (clientConnection). A negative
 * `qps` is no limit.
 */
export class RateLimiter {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAt: number;

  constructor(limits: { readonly qps: number; readonly burst: number }, clock: Clock) {
    this.#qps = limits.qps;
    this.#burst = Math.max(1, limits.burst);
    this.#clock = clock;
    this.#tokens = this.#burst;
    this.#filledAt = clock.monotonic();
  }

  /** Takes one token; returns how many milliseconds to wait before the request may go, in the order of the calls. */
  reserve(): number {
    if (this.#qps <= 0) return 0;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) * this.#qps) / 1000);
    this.#filledAt = now;
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1000) / this.#qps;
  }
}
