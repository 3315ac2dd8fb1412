import type { Clock, Timer } from '../clock.ts';

/** A clock that stands still until `advance` is called; timers then fire in order of their due time. */
export class FakeClock implements Clock {
  #now: number;
  readonly #start: number;
  #timers: { due: number; callback: () => void }[] = [];

  constructor(start = 1_700_000_000_000) {
    this.#now = start;
    this.#start = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  schedule(milliseconds: number, callback: () => void): Timer {
    const timer = { due: this.#now + Math.max(0, milliseconds), callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Number of timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves time on; promise callbacks run between timers, so awaiting code sees each step. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await settle();
      const next = this.#timers.toSorted((a, b) => a.due - b.due)[0];
      if (next === undefined || next.due > end) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.due);
      next.callback();
    }
    this.#now = end;
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
