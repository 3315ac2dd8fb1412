import { expect, test } from 'vitest';
import { sampleCluster } from './testing/sample-cluster.ts';
import { fullySynced } from './testing/test-table.ts';

// The goldens are what a reader sees with `nft list table`, sorted; the kernel and nft judge them in
// nftables-proxier.netns.test.ts. `vitest --update` rewrites them.
test.each(['ip', 'ip6'] as const)('the table of a cluster with a bit of everything, %s', async (family) => {
  const table = await fullySynced(sampleCluster(family));
  await expect(table.describe()).toMatchFileSnapshot(`testdata/table-${family}.nft`);
});
