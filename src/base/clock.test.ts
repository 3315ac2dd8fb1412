import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

const DAY_MS = 24 * 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([1, 1000, 24 * DAY_MS, 25 * DAY_MS, 100 * DAY_MS])(
  'a timer of %i ms fires then, and once',
  (milliseconds) => {
    // Like Node, which takes what does not fit for 1 ms.
    const real = globalThis.setTimeout;
    vi.stubGlobal('setTimeout', (callback: () => void, delay: number) =>
      real(callback, delay > 2 ** 31 - 1 ? 1 : delay),
    );
    const fired = vi.fn();
    systemClock.schedule(milliseconds, fired);
    vi.advanceTimersByTime(milliseconds - 1);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(fired).toHaveBeenCalledTimes(1);
    vi.unstubAllGlobals();
  },
);

test('a long timer can be cancelled at any time', () => {
  const fired = vi.fn();
  const timer = systemClock.schedule(100 * DAY_MS, fired);
  vi.advanceTimersByTime(60 * DAY_MS);
  timer.cancel();
  vi.advanceTimersByTime(60 * DAY_MS);
  expect(fired).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
