import type { TableNames } from '../../kernel/nftables/table-names.ts';
import type { Transaction } from '../../kernel/nftables/transaction.ts';
import type { NftFamily } from './family-terms.ts';

/** What the proxier needs of the kernel; NftablesConnection has it, and so has the fake. */
export interface NftablesKernel {
  /** Applies all or nothing, synchronously. Returns the number of operations, elements counted one by one. Throws NftablesError. */
  commit(transaction: Transaction): number;
  /** What a table holds, without rules and elements; `undefined` when there is no such table. */
  listNames(family: NftFamily, table: string): TableNames | undefined;
  close(): void;
}
