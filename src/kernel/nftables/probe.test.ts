import { expect, test } from 'vitest';
import { NftablesError } from './nftables-error.ts';
import { probeNftables, probeText, requireFeatures } from './probe.ts';
import { FakeNftables } from './testing/fake-nftables.ts';
import type { Transaction } from './transaction.ts';

test('on a kernel that has everything nothing is missing and nothing changes', () => {
  const fake = new FakeNftables();
  for (const family of ['ip', 'ip6'] as const) {
    const report = probeNftables(fake, family);
    expect(report.features.filter(({ available }) => !available)).toEqual([]);
    requireFeatures(report);
  }
  expect(fake.dump()).toBe('');
});

test('what is missing is named, with the kernel option and the reason', () => {
  const fake = new FakeNftables();
  const ENOENT = 2;
  fake.refuse = ({ object }) => {
    const statements = object.kind === 'rule' && 'statements' in object ? object.statements : [];
    return statements.some(({ kind }) => kind === 'masquerade') ? ENOENT : undefined;
  };
  const report = probeNftables(fake, 'ip');
  expect(report.features.filter(({ available }) => !available).map(({ name }) => name)).toEqual([
    'masquerade',
  ]);
  expect(probeText(report)).toMatch(
    /NO {3}masquerade \(CONFIG_NFT_MASQ\): .*ENOENT.*masquerade fully-random/,
  );
  expect(probeText(report)).toMatch(/yes {2}reject/);
  expect(() => requireFeatures(report)).toThrow(
    expect.objectContaining({
      detail: { code: 'NFT_FEATURE_MISSING', family: 'ip', missing: ['masquerade'] },
    }),
  );
});

test.each(['NFT_PERMISSION_DENIED', 'NFT_NOT_SUPPORTED'] as const)('%s ends the probe', (code) => {
  const detail = code === 'NFT_NOT_SUPPORTED' ? { code, family: 'ip', errno: 95 } : { code };
  const kernel = {
    check(_: Transaction): void {
      throw new NftablesError(detail, 'no');
    },
  };
  expect(() => probeNftables(kernel, 'ip')).toThrow(expect.objectContaining({ detail }));
});
