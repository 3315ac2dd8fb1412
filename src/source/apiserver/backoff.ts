/** Delays that double from a first to a last one, each stretched by a random share of itself, so that clients spread. */
export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #nextMs: number;

  /** `random` gives numbers from 0 to below 1. */
  constructor(minMs: number, maxMs: number, random: () => number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
    this.#nextMs = minMs;
  }

  /** Milliseconds to wait after one more failure: between the base and twice the base, at most `maxMs`. */
  next(): number {
    const base = this.#nextMs;
    this.#nextMs = Math.min(base * 2, this.#maxMs);
    return Math.min(base * (1 + this.#random()), this.#maxMs);
  }

  reset(): void {
    this.#nextMs = this.#minMs;
  }
}
