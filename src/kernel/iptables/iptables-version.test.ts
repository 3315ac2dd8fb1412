import { expect, test } from 'vitest';
import { iptablesFeatures, iptablesPrograms, parseIptablesVersion } from './iptables-version.ts';

test.each([
  ['iptables v1.8.9 (nf_tables)\n', 'nft', 1, 8, 9],
  ['iptables v1.8.9 (legacy)\n', 'legacy', 1, 8, 9],
  ['iptables v1.6.1\n', 'legacy', 1, 6, 1],
  ['ip6tables v1.4\n', 'legacy', 1, 4, 0],
])('%j', (text, backend, major, minor, patch) => {
  expect(parseIptablesVersion(text)).toMatchObject({ backend, major, minor, patch });
});

test('text without a version gives no features', () => {
  expect(parseIptablesVersion('total junk')).toBeUndefined();
  expect(iptablesFeatures(undefined)).toEqual({ randomFully: false, wait: [], restoreWait: [] });
});

test.each([
  ['v1.4.19', false, '', ''],
  ['v1.4.21', false, '-w', ''],
  ['v1.4.22', false, '-w 5', ''],
  ['v1.6.1', false, '-w 5', ''],
  ['v1.6.2', true, '-w 5 -W 100000', '-w 5 -W 100000'],
  ['v1.8.7', true, '-w 5 -W 100000', '-w 5 -W 100000'],
  ['v1.8.11', true, '-w 5', '-w 5'],
  ['v2.0', true, '-w 5', '-w 5'],
])('%s', (text, randomFully, wait, restoreWait) => {
  const features = iptablesFeatures(parseIptablesVersion(text));
  expect(features.randomFully).toBe(randomFully);
  expect(features.wait.join(' ')).toBe(wait);
  expect(features.restoreWait.join(' ')).toBe(restoreWait);
});

test('programs are named after family and back-end', () => {
  expect(iptablesPrograms('IPv4')).toEqual({
    iptables: 'iptables',
    restore: 'iptables-restore',
    save: 'iptables-save',
  });
  expect(iptablesPrograms('IPv6', 'legacy').restore).toBe('ip6tables-legacy-restore');
});
