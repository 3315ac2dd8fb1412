import type { Clock } from '../../base/clock.ts';

/** Resolves after this time, or at once when the signal is aborted. */
export function sleep(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (signal.aborted || milliseconds <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      timer.cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.schedule(milliseconds, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
