import { describeError } from '../base/fairlead-error.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import { type NftFamily, nftFamily } from '../dataplane/nftables/family-terms.ts';
import type { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { ctState } from '../kernel/nftables/selector/selector.ts';
import { Transaction } from '../kernel/nftables/transaction.ts';

/**
 * Keeps established connections translated when somebody flushes the whole ruleset.
 *
 * The kernel translates the packets of an established connection as long as any table has a chain of type nat. Without
 * one the next packet passes with the addresses it has, and the other end, which knows no such connection, resets it;
 * writing our tables again within milliseconds comes too late. A table that belongs to a socket is spared by
 * `nft flush ruleset`, and gone when the process ends. Its rules are never run: to be there is enough.
 *
 * Returns what creates the table of a family, to be called once the family has rules; later calls do nothing. Kernels
 * before 5.12 refuse it, which is logged at level 2.
 */
export function holdTranslation(connection: NftablesConnection, logger: Logger): (family: IpFamily) => void {
  const held = new Set<IpFamily>();
  return (family) => {
    if (held.has(family)) return;
    held.add(family);
    try {
      connection.commit(holdingTable(nftFamily(family), connection.portId));
    } catch (error) {
      logger.verbose(2, 'Connections will break should somebody flush the ruleset', {
        ipFamily: family,
        err: describeError(error),
      });
    }
  };
}

/** A table that belongs to the connection of this port; two processes have one each. */
function holdingTable(family: NftFamily, portId: number): Transaction {
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
