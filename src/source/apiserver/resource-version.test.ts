import { expect, test } from 'vitest';
import { isOlderVersion } from './resource-version.ts';

test.each([
  ['9', '10', true],
  ['10', '9', false],
  ['10', '10', false],
  ['99999999999999999999', '100000000000000000000', true],
  ['', '10', false],
  ['10', '', false],
  ['abc', 'abd', false],
  ['0', '10', false],
])('isOlderVersion(%j, %j) is %j', (version, than, older) => {
  expect(isOlderVersion(version, than)).toBe(older);
});
