import { expect, test } from 'vitest';
import { connectionShare } from './connection-share.ts';

const limits = (files: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             100                  100                  processes \nMax open files            ${files}                 1048576              files     \n`;

test.each([
  ['1024', 128],
  ['1048576', 131_072],
  ['20', 16],
  ['unlimited', Number.POSITIVE_INFINITY],
])('with %s open files', (files, share) => {
  expect(connectionShare(() => limits(files))).toBe(share);
});

test('of this process', () => {
  expect(connectionShare()).toBeGreaterThanOrEqual(16);
  expect(
    connectionShare(() => {
      throw new Error('no /proc');
    }),
  ).toBe(Number.POSITIVE_INFINITY);
});
