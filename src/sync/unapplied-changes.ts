import type { Clock } from '../base/clock.ts';

/** Changes that arrive within this time are kept as one entry with the earlier time. */
const RESOLUTION_MILLISECONDS = 5;

/** Entries kept; later changes are added to the last one, which makes them look a little older than they are. */
const MAX_ENTRIES = 4096;

/** Changes that arrived together. */
interface Batch {
  /** Monotonic, milliseconds. */
  readonly arrivedAt: number;
  count: number;
}

/**
 * When the changes arrived that are not in the kernel yet: for the age of the oldest one, and for the time from arrival
 * to kernel. Changes are kept through failed syncs, so an age never looks better than it is; memory is bounded.
 */
export class UnappliedChanges {
  readonly #clock: Clock;
  #waiting: Batch[] = [];
  /** Taken by a sync that has not succeeded yet. */
  #taken: Batch[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes changes that have just arrived. */
  note(count = 1): void {
    const now = this.#clock.monotonic();
    const last = this.#waiting.at(-1);
    if (
      last !== undefined &&
      (now - last.arrivedAt < RESOLUTION_MILLISECONDS || this.#waiting.length >= MAX_ENTRIES)
    ) {
      last.count += count;
    } else {
      this.#waiting.push({ arrivedAt: now, count });
    }
  }

  /** A sync takes all changes noted so far. */
  syncStarted(): void {
    // After failures the older changes alone say enough about the delay.
    const room = Math.max(0, MAX_ENTRIES - this.#taken.length);
    this.#taken.push(...this.#waiting.slice(0, room));
    for (const { count } of this.#waiting.slice(room)) this.#taken.at(-1)!.count += count;
    this.#waiting = [];
  }

  /** What the sync took is in the kernel now: calls `observe` for each batch and forgets it. */
  syncSucceeded(observe: (seconds: number, count: number) => void): void {
    const now = this.#clock.monotonic();
    for (const { arrivedAt, count } of this.#taken) observe((now - arrivedAt) / 1000, count);
    this.#taken = [];
  }

  /** Seconds since the oldest change that is not in the kernel arrived; 0 when there is none. */
  oldestAge(): number {
    const oldest = this.#taken[0] ?? this.#waiting[0];
    return oldest === undefined ? 0 : (this.#clock.monotonic() - oldest.arrivedAt) / 1000;
  }
}
