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

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(milliseconds, callback) {
    const handle = setTimeout(callback, milliseconds);
    return { cancel: () => clearTimeout(handle) };
  },
};
