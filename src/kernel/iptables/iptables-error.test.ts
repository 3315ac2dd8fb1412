import { expect, test } from 'vitest';
import { iptablesFailure, isAbsent } from './iptables-error.ts';

// Messages as iptables 1.8.9 prints them.
test.each([
  [
    'nft, the kernel',
    4,
    'iptables-nft-restore v1.8.9 (nf_tables): \nline 4: RULE_APPEND failed (No such file or directory): rule in chain KUBE-FORWARD\nline 9: CHAIN_DEL failed (Device or resource busy): chain KUBE-SEP-A\n',
    [4, 9],
    ['KUBE-FORWARD', 'KUBE-SEP-A'],
  ],
  [
    'nft, an argument',
    2,
    "iptables-nft-restore v1.8.9 (nf_tables): invalid port/service `70000' specified\nError occurred at line: 3\nTry `iptables-nft-restore -h' or 'iptables-nft-restore --help' for more information.\n",
    [3],
    [],
  ],
  [
    'nft, a target',
    2,
    "iptables-nft-restore v1.8.9 (nf_tables): Chain 'KUBE-SEP-MISSING' does not exist\nError occurred at line: 5\n",
    [5],
    ['KUBE-SEP-MISSING'],
  ],
  ['legacy, the kernel', 1, 'iptables-restore: line 5 failed\n', [5], []],
  [
    'legacy, a target',
    2,
    "Ignoring deprecated --wait-interval option.\niptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-SEP-MISSING':No such file or directory\n\nError occurred at line: 3\n",
    [3],
    ['KUBE-SEP-MISSING'],
  ],
])('%s', (_, status, output, lines, chains) => {
  const { detail } = iptablesFailure('restore', status, output);
  expect(detail).toMatchObject({ code: 'IPTABLES_REFUSED', exitStatus: status, lines, chains });
});

test('a message as long as the input makes a short error that knows all lines', () => {
  const lines = Array.from(
    { length: 700 },
    (_, n) => `line ${n}: RULE_APPEND failed (Invalid argument): rule in chain X`,
  );
  const error = iptablesFailure('restore', 4, lines.join('\n'));
  expect(error.message.length).toBeLessThan(1100);
  expect(error.detail).toMatchObject({ lines: expect.arrayContaining([0, 699]) });
});

test('a lock held by another program is told from a refusal', () => {
  const text = 'Another app is currently holding the xtables lock. Stopped waiting after 5s.\n';
  const error = iptablesFailure('iptables', 4, text);
  expect(error.code).toBe('IPTABLES_LOCK_HELD');
  expect(isAbsent(error)).toBe(false);
});

test.each([
  'iptables: No chain/target/match by that name.',
  'iptables: Bad rule (does a matching rule exist in that chain?).',
  "iptables v1.8.9 (nf_tables): Chain 'KUBE-QQ' does not exist",
  "iptables v1.8.9 (legacy): Couldn't load target `KUBE-QQ':No such file or directory",
])('absent: %s', (text) => {
  expect(isAbsent(iptablesFailure('iptables', 1, text))).toBe(true);
});

test('other refusals are not taken for absence', () => {
  expect(isAbsent(iptablesFailure('iptables', 4, 'Fatal: Permission denied'))).toBe(false);
  expect(isAbsent(new Error('does not exist'))).toBe(false);
});
