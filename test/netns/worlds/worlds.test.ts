import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Variant } from '../replay/exceptions.ts';
import { WorldBeds } from './world-beds.ts';
import { describeWorldFailure } from './world-report.ts';

const VARIANTS: readonly Variant[] = ['nftables', 'iptables-nft'];
/** More: node test/netns/worlds/main.ts --help */
const SEEDS = [101, 102, 103];
const TIMEOUT_MILLISECONDS = 600_000;

describe.concurrent('packets meet what the plan says, whatever changes', () => {
  let beds: WorldBeds;
  beforeAll(async () => {
    beds = await WorldBeds.create(VARIANTS);
  });
  afterAll(() => beds?.close());

  test.each(VARIANTS)('%s', { timeout: TIMEOUT_MILLISECONDS }, async (variant) => {
    for (const seed of SEEDS) {
      const { failures, probes } = await beds.run(variant, { seed, steps: 4, probesPerStep: 50 });
      expect(failures.map(describeWorldFailure).join('\n')).toBe('');
      expect(probes).toBeGreaterThan(50);
    }
  });
});
