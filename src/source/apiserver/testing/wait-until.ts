/** Waits, a few milliseconds at a time, until a condition holds; fails after five seconds. */
export async function waitUntil(condition: () => boolean, what = 'condition'): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
