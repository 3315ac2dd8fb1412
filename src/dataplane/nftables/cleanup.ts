import { Transaction } from '../../kernel/nftables/transaction.ts';
import type { NftFamily } from './family-terms.ts';
import { TABLE } from './names.ts';
import type { NftablesKernel } from './nftables-kernel.ts';

/** Removes the table of this mode and of kube-proxy's in one family. Nothing to remove is no error. Throws NftablesError. */
export function cleanupNftables(
  kernel: Pick<NftablesKernel, 'commit' | 'listNames'>,
  family: NftFamily,
): void {
  if (kernel.listNames(family, TABLE) === undefined) return;
  kernel.commit(new Transaction(family, TABLE).delete({ kind: 'table' }));
}
