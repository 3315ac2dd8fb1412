import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatGoDuration, parseGoDuration } from './go-duration.ts';

describe('Go durations', () => {
  test.each([
    ['0', 0, '0s'],
    ['30s', 30_000, '30s'],
    ['1.5h', 5_400_000, '1h30m0s'],
    ['2h22m', 8_520_000, '2h22m0s'],
    ['24h', 86_400_000, '24h0m0s'],
    ['900s', 900_000, '15m0s'],
    ['-1s', -1_000, '-1s'],
    ['+5m', 300_000, '5m0s'],
    ['500ms', 500, '500ms'],
    ['1.5s', 1_500, '1.5s'],
    ['.5s', 500, '500ms'],
    ['1.s', 1_000, '1s'],
    ['1us', 0.001, '1µs'],
    ['1µs', 0.001, '1µs'],
    ['1μs', 0.001, '1µs'],
    ['1ns', 0.000001, '1ns'],
    ['1h0m0.000000001s', 3_600_000.000001, '1h0m0.000000001s'],
    ['2562047h', 9_223_369_200_000, '2562047h0m0s'],
  ])('%s is %d ms and printed as %s', (text, milliseconds, printed) => {
    expect(parseGoDuration(text)).toBe(milliseconds);
    expect(formatGoDuration(milliseconds)).toBe(printed);
  });

  test.each([
    '',
    '30',
    '1d',
    '1x',
    '1',
    '-',
    '+',
    '.',
    '.s',
    's',
    '1 s',
    ' 1s',
    '1s ',
    '1h30',
    '--1s',
    '1e3s',
    '3000000h',
  ])('%j is none', (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
  });

  test('what is printed is read back as the same', () => {
    const nanoseconds = fc.integer({ min: -(2 ** 51), max: 2 ** 51 });
    fc.assert(
      fc.property(nanoseconds, (ns) => {
        const printed = formatGoDuration(ns / 1e6);
        expect(Math.round((parseGoDuration(printed) ?? Number.NaN) * 1e6)).toBe(ns === 0 ? 0 : ns);
      }),
    );
  });
});
