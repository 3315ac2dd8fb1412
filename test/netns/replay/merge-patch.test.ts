import { expect, test } from 'vitest';
import { mergePatch } from './merge-patch.ts';

test('mappings merge, null removes, lists and scalars replace', () => {
  const target = { keep: 1, list: [1, 2], inner: { a: 1, b: 2 }, scalar: 'x' };
  const patch = { list: [3], inner: { a: null, c: 3 }, scalar: { now: 'a mapping' } };
  expect(mergePatch(target, patch)).toEqual({
    keep: 1,
    list: [3],
    inner: { b: 2, c: 3 },
    scalar: { now: 'a mapping' },
  });
  expect(target.inner).toEqual({ a: 1, b: 2 });
});

test('a null inside a new mapping leaves no key behind', () => {
  expect(mergePatch({}, { status: { loadBalancer: null } })).toEqual({ status: {} });
});
