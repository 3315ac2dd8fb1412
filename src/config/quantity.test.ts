import { describe, expect, test } from 'vitest';
import { parseQuantity } from './quantity.ts';

describe('quantities', () => {
  test.each([
    ['0', 0, '0'],
    ['512', 512, '512'],
    ['1K', 1_000, '1k'],
    ['1000', 1_000, '1k'],
    ['1k', 1_000, '1k'],
    ['2Ki', 2_048, '2Ki'],
    ['1024Ki', 1_048_576, '1Mi'],
    ['3M', 3_000_000, '3M'],
    ['1.5Gi', 1_610_612_736, '1536Mi'],
    ['1e3', 1_000, '1k'],
    ['1.5', 2, '2'],
    ['1E', 1e18, '1E'],
  ])('%s is %d, printed as %s', (text, value, printed) => {
    expect(parseQuantity(text)).toEqual({ value, text: printed });
  });

  test.each(['', 'x', '1KB', '1 K', '1Kii', 'Ki', '0x10', '1ki'])('%j is none', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});
