import { expect, test } from 'vitest';
import { DRAWS, slotsFor } from './slots.ts';

test('slots are the power of two at or above the number of endpoints', () => {
  expect([1, 2, 3, 4, 5, 8, 9, 16, 17, 1000, 1024, 1025].map(slotsFor)).toEqual([
    1, 2, 4, 4, 8, 8, 16, 16, 32, 1024, 1024, 2048,
  ]);
});

/** Chance of each endpoint, given n of them, when each draw is uniform and a draw of n or more goes to the next rule. */
function shares(n: number): number[] {
  const result = new Array<number>(n).fill(0);
  let left = 1;
  const slots = slotsFor(n);
  const moduli = slots <= 2 ? [slots] : [...new Array<number>(DRAWS).fill(slots), slots / 2];
  for (const modulus of moduli) {
    const hit = Math.min(n, modulus);
    for (let slot = 0; slot < hit; slot++) result[slot]! += left / modulus;
    left *= 1 - hit / modulus;
  }
  expect(left).toBe(0);
  return result;
}

test.each([1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 33, 100, 129, 1000, 1025])(
  '%i endpoints get equal shares',
  (n) => {
    const all = shares(n);
    expect(Math.max(...all) / Math.min(...all)).toBeLessThan(1.008);
    expect(all.reduce((sum, share) => sum + share)).toBeCloseTo(1, 9);
  },
);
