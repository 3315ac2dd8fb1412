import { silentLogger } from '../../../base/logger.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { describeTable } from '../../../kernel/nftables/describe-table.ts';
import type { TableListing } from '../../../kernel/nftables/table-listing.ts';
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts';
import type { Transaction } from '../../../kernel/nftables/transaction.ts';
import type { SyncReport } from '../../proxier.ts';
import type { TestCluster } from '../../testing/test-cluster.ts';
import { nftFamily } from '../family-terms.ts';
import { TABLE } from '../names.ts';
import type { NftablesKernel } from '../nftables-kernel.ts';
import { NftablesProxier } from '../nftables-proxier.ts';

export type TestKernel = NftablesKernel & Pick<FakeNftables, 'listTable'>;

/** A proxier that follows a cluster, over nf_tables in memory or of the kernel. */
export class TestTable<Kernel extends TestKernel = FakeNftables> {
  readonly cluster: TestCluster;
  readonly kernel: Kernel;
  readonly clock = new FakeClock();
  readonly proxier: NftablesProxier;

  constructor(cluster: TestCluster, kernel: Kernel) {
    this.cluster = cluster;
    this.kernel = kernel;
    this.proxier = new NftablesProxier(cluster.settings, { kernel, clock: this.clock, logger: silentLogger });
  }

  fullSync(): Promise<SyncReport> {
    return this.proxier.sync(this.cluster.plan(), undefined);
  }

  /** Applies what changed in the cluster since the last sync. */
  partialSync(): Promise<SyncReport> {
    const { plan, diff } = this.cluster.update();
    return this.proxier.sync(plan, diff);
  }

  /** Lets chains that have fallen out of use be deleted. */
  async collectStaleChains(): Promise<void> {
    await this.clock.advance(1000);
    await this.partialSync();
  }

  listing(): TableListing {
    const listing = this.kernel.listTable(nftFamily(this.cluster.settings.family), TABLE);
    if (listing === undefined) throw new Error('there is no table');
    return listing;
  }

  describe(): string {
    return describeTable(this.listing());
  }
}

/** A table in memory. */
export function fakeTable(cluster: TestCluster, kernel = new FakeNftables()): TestTable {
  return new TestTable(cluster, kernel);
}

/** The transactions of `work`. */
export async function committedBy(
  { kernel }: TestTable,
  work: () => Promise<unknown>,
): Promise<readonly Transaction[]> {
  const before = kernel.committed.length;
  await work();
  return kernel.committed.slice(before);
}

/** The table that one full sync of a cluster makes in an empty kernel. */
export async function fullySynced(cluster: TestCluster): Promise<TestTable> {
  const table = fakeTable(cluster);
  await table.fullSync();
  return table;
}
