import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');

test('docs/cases.md names files that exist, and each case once', () => {
  const text = readFileSync(join(root, 'docs/cases.md'), 'utf8');
  const files = [...text.matchAll(/`((?:docs|src|test)\/[^`*]+)`/g)].map(([, file]) => file!);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  const cases = [...text.matchAll(/^\| (C\d+) \| .+ \| .*(?:`|\*\*).*\|$/gm)].map(([, id]) => id!);
  expect(cases).toHaveLength([...text.matchAll(/^\| C/gm)].length);
  expect(cases).toEqual([...new Set(cases)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
});
