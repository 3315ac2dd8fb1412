import { ctState } from '../../kernel/nftables/selector/selector.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import type { NftFamily } from './family-terms.ts';

/**
 * A small table that keeps address translation at work when somebody flushes the whole ruleset.
 *
 * The kernel translates the packets of an established connection as long as any table has a chain of type nat. Without
 * one the next packet passes with the addresses it has, and the other end, which knows no such connection, resets it;
 * writing our tables again within milliseconds comes too late. A table that belongs to a socket is spared by
 * `nft flush ruleset`, and gone when the process ends. Its rules are never run: to be there is enough.
 *
 * `portId` is that of the connection the transaction is committed with; two processes have a table each. Kernels
 * before 5.12 refuse it.
 */
export function holdTranslation(family: NftFamily, portId: number): Transaction {
  return (
    new Transaction(family, `fairlead-hold-${portId}`)
      .add({
        kind: 'table',
        owner: true,
        comment: 'keeps connections translated when the ruleset is flushed; goes with the process',
      })
      .add({
        kind: 'chain',
        name: 'keep-translating',
        base: { type: 'nat', hook: 'postrouting', priority: 110 },
      })
      // A rule that asks for connection states keeps the tracking of connections on.
      .add({ kind: 'chain', name: 'keep-tracking' })
      .add({
        kind: 'rule',
        chain: 'keep-tracking',
        statements: [
          { kind: 'match', left: [ctState], op: '==', right: 'new' },
          { kind: 'verdict', verdict: 'accept' },
        ],
      })
  );
}
