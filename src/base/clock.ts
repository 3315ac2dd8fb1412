/** Time as a dependency, so that tests can move it. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start, never going back, with fractions. */
  monotonic(): number;
  /** Runs `callback` once after `milliseconds`. The returned handle cancels it; cancelling twice is harmless. */
  schedule(milliseconds: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Node fires timers with a longer delay at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(milliseconds, callback) {
    let handle: NodeJS.Timeout;
    const arm = (left: number) => {
      handle =
        left <= LONGEST_TIMER_MS
          ? setTimeout(callback, left)
          : setTimeout(() => arm(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS);
    };
    arm(milliseconds);
    return { cancel: () => clearTimeout(handle) };
  },
};
