import { afterEach, describe, expect, test, vi } from 'vitest';
import { formatRfc3339, parseRfc3339 } from './rfc3339.ts';

test.each([
  ['1970-01-01T00:00:00Z', 0],
  ['2026-05-01T10:00:00Z', 1_777_629_600_000],
  ['2026-05-01T10:00:00.5Z', 1_777_629_600_500],
  ['2026-05-01T12:00:00.250+02:00', 1_777_629_600_250],
  ['2026-05-01T06:30:00-03:30', 1_777_629_600_000],
  ['2024-02-29T00:00:00Z', 1_709_164_800_000],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000],
])('reads %s', (text, expected) => {
  expect(parseRfc3339(text)).toBe(expected);
});

test('keeps fractions below a millisecond', () => {
  expect(parseRfc3339('1970-01-01T00:00:00.000123456Z')).toBeCloseTo(0.123456, 9);
});

test.each([
  '',
  'yesterday',
  '2026-05-01',
  '2026-05-01T10:00:00',
  '2026-05-01t10:00:00z',
  '2026-02-29T10:00:00Z',
  '2026-13-01T10:00:00Z',
  '2026-00-01T10:00:00Z',
  '2026-05-01T24:00:00Z',
  '2026-05-01T10:60:00Z',
  '2026-05-01T10:00:00.Z',
  ' 2026-05-01T10:00:00Z',
  '2026-05-01T10:00:00Z ',
])('refuses %j', (text) => {
  expect(parseRfc3339(text)).toBeUndefined();
});

describe('prints what it reads, without trailing zeros', () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ['UTC', 1_777_629_600_000, '2026-05-01T10:00:00Z'],
    ['UTC', 1_777_629_600_500, '2026-05-01T10:00:00.5Z'],
    ['UTC', 1_777_629_600_050, '2026-05-01T10:00:00.05Z'],
    ['Asia/Kolkata', 1_777_629_600_007, '2026-05-01T15:30:00.007+05:30'],
    ['America/St_Johns', 1_777_629_600_000, '2026-05-01T07:30:00-02:30'],
  ])('%s: %i is %s', (zone, time, text) => {
    vi.stubEnv('TZ', zone);
    expect(formatRfc3339(time)).toBe(text);
    expect(parseRfc3339(text)).toBe(time);
  });
});
