import { expect, test } from 'vitest';
import { probabilityText } from './probability.ts';

test.each([
  [1, '1.0000000000'],
  [2, '0.5000000000'],
  [3, '0.3333333333'],
  [10, '0.1000000000'],
  [1000, '0.0010000000'],
  [2048, '0.0004882812'],
  [100_000, '0.0000100000'],
  [100_001, '0.0000099999'],
])('one in %i is %s', (n, text) => {
  expect(probabilityText(n)).toBe(text);
});

test('a larger n never has the larger probability', () => {
  for (let n = 2; n <= 100_000; n++)
    if (!(Number(probabilityText(n)) < Number(probabilityText(n - 1)))) expect.fail(`at ${n}`);
});
