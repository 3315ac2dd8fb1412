import { patient } from '../patience.ts';

const POLL_MILLISECONDS = patient(20);

/** Asks again and again until the answer is true; resolves to the milliseconds that took. Rejects after the time-out. */
export async function waitUntil(
  what: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMilliseconds = patient(10_000),
): Promise<number> {
  const begin = performance.now();
  while (!(await condition())) {
    if (performance.now() - begin > timeoutMilliseconds)
      throw new Error(`${what}: not within ${timeoutMilliseconds} ms`);
    await delay(POLL_MILLISECONDS);
  }
  return performance.now() - begin;
}

export function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
