import { expect, test } from 'vitest';
import { ENOENT, ERESTART, errnoName } from './errno.ts';

test("names are those of the kernel's sources", () => {
  expect([ENOENT, 11, 16, 95, ERESTART, 524].map(errnoName)).toEqual([
    'ENOENT',
    'EAGAIN',
    'EBUSY',
    'EOPNOTSUPP',
    'ERESTART',
    'ENOTSUPP',
  ]);
  expect(errnoName(4000)).toBe('errno 4000');
});
