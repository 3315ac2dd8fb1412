import { expect, test } from 'vitest';
import { parseSave, readChainName } from './save-text.ts';

test('the name is read from a chain line, and from nothing else', () => {
  expect(readChainName(':KUBE-SVC-A - [0:0]')).toBe('KUBE-SVC-A');
  expect(readChainName(':INPUT ACCEPT [12:3456]')).toBe('INPUT');
  expect(readChainName('-A INPUT -j :X y')).toBeUndefined();
  expect(readChainName('# comment')).toBeUndefined();
});

test('tables, chains, rules, counters', () => {
  const tables = parseSave(`# Generated
*filter
:INPUT ACCEPT [0:0]
:X - [0:0]
[5:300] -A INPUT -s 10.0.0.0/8 -j X
-A X -m comment --comment "a b" -j DROP
-A X
COMMIT
*nat
:OUTPUT ACCEPT [0:0]
COMMIT
*filter
:Y - [0:0]
COMMIT
`);
  expect([...tables.keys()]).toEqual(['filter', 'nat']);
  expect([...tables.get('filter')!.chains]).toEqual([
    ['INPUT', ['-s 10.0.0.0/8 -j X']],
    ['X', ['-m comment --comment "a b" -j DROP', '']],
    ['Y', []],
  ]);
});
