import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const PREFIXES = 'API|APP|CONFIG|CREDENTIALS|DECODE|HEALTH|IPTABLES|LISTEN|MANIFEST|NETLINK|NFT|SYSCTL';

/** Codes that a closed union in the source declares. */
function declaredCodes(): string[] {
  const found = new Set<string>();
  for (const name of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
    const text = readFileSync(join(root, 'src', name), 'utf8');
    for (const [declaration] of text.matchAll(/readonly code:\s*(?:\|?\s*'[A-Z_0-9]+'\s*)+/g)) {
      for (const [, code] of declaration.matchAll(/'([A-Z_0-9]+)'/g)) found.add(code!);
    }
  }
  return [...found].sort();
}

test('docs/errors.md names every error code, and no other', () => {
  const text = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  const documented = rows.flatMap(
    (row) => row.split('|')[1]!.match(new RegExp(`\\b(?:${PREFIXES})_[A-Z_]+`, 'g')) ?? [],
  );
  expect(documented.sort()).toEqual(declaredCodes());
});
