import { EEXIST, EINVAL, ENOENT } from '../../native/errno.ts';
import type { Transaction } from '../transaction.ts';
import { address, chain, empty, prerouting, rule, some, table, verdict } from './case-objects.ts';

/** One thing the kernel does or refuses; checked against the fake, and in a namespace against the kernel itself. */
export interface KernelCase {
  readonly name: string;
  /** Committed first, and must succeed. */
  readonly given: (transaction: Transaction) => void;
  /** Committed next. */
  readonly when: (transaction: Transaction) => void;
  /** What `when` is refused with; absent: it is applied. */
  readonly errno?: number;
  /** What Linux 6.1 says instead. */
  readonly olderErrno?: number;
  /** Index of the refused operation in `when`. */
  readonly at?: number;
}

/** What the kernel does to tables as a whole. */
export const tableCases: readonly KernelCase[] = [
  { name: 'a table can be added twice', given: empty, when: (tx) => tx.add(table) },
  {
    name: 'a table cannot be created twice',
    given: empty,
    when: (tx) => tx.create(table),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a missing table cannot be deleted',
    given: () => {},
    when: (tx) => tx.delete(table),
    errno: ENOENT,
    at: 0,
  },
  { name: 'a missing table can be destroyed', given: () => {}, when: (tx) => tx.destroy(table) },
  { name: 'a table is deleted with all it holds', given: some, when: (tx) => tx.delete(table) },
  {
    name: 'a table can be replaced in one transaction',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a'))).add(address('10.0.0.1'));
    },
    when: (tx) => tx.destroy(table).add(table).add(chain('c')),
  },
  {
    name: 'a table falls asleep and is listed so',
    given: some,
    when: (tx) => tx.add({ ...table, dormant: true }),
  },
  {
    name: 'a dormant table takes rules and base chains',
    given: (tx) => {
      tx.add({ ...table, dormant: true }).add(chain('a'));
    },
    when: (tx) =>
      tx
        .add({ ...table, dormant: true })
        .add(prerouting)
        .add(rule('prerouting', verdict('jump a'))),
  },
  {
    name: 'a table wakes when it is added, and loses its rules with that',
    given: (tx) => {
      tx.add({ ...table, dormant: true })
        .add(prerouting)
        .add(chain('a'));
      tx.add(rule('prerouting', verdict('jump a')));
    },
    when: (tx) => tx.add(table).flush(table),
  },
  {
    name: 'a table does not wake with a new base chain',
    given: (tx) => tx.add({ ...table, dormant: true }),
    when: (tx) => tx.add(table).add(prerouting),
    errno: EINVAL,
    at: 1,
  },
  {
    name: 'a table does not wake and fall asleep at once',
    given: (tx) => {
      tx.add({ ...table, dormant: true }).add(prerouting);
    },
    when: (tx) => tx.add(table).add({ ...table, dormant: true }),
    errno: EINVAL,
    at: 1,
  },
  {
    name: 'a dormant table can be destroyed',
    given: (tx) => {
      tx.add({ ...table, dormant: true }).add(prerouting);
    },
    when: (tx) => tx.destroy(table),
  },
  {
    name: 'objects need their table',
    given: () => {},
    when: (tx) => tx.add(chain('a')),
    errno: ENOENT,
    at: 0,
  },
];
