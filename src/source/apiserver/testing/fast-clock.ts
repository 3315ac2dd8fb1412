import type { Clock } from '../../../base/clock.ts';

/** Real time that runs `speed` times as fast, for tests that meet real sockets. Notes the delays that were asked for. */
export class FastClock implements Clock {
  readonly delays: number[] = [];
  readonly #speed: number;
  #skipped = 0;

  constructor(speed: number) {
    this.#speed = speed;
  }

  now(): number {
    return 1_800_000_000_000 + this.monotonic();
  }

  monotonic(): number {
    return performance.now() * this.#speed + this.#skipped;
  }

  /** Moves the time on at once; timers that are running do not notice. */
  skip(milliseconds: number): void {
    this.#skipped += milliseconds;
  }

  schedule(milliseconds: number, callback: () => void) {
    this.delays.push(milliseconds);
    const handle = setTimeout(callback, milliseconds / this.#speed);
    return { cancel: () => clearTimeout(handle) };
  }
}
