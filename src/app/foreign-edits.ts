import { errorCode } from '../base/fairlead-error.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import { TABLE } from '../dataplane/nftables/names.ts';
import type { NftablesKernel } from '../dataplane/nftables/nftables-kernel.ts';
import { NETLINK_NETFILTER, openNetlinkSocket } from '../kernel/netlink/netlink-socket.ts';
import type { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import type { RulesetEvent } from '../kernel/nftables/ruleset-event.ts';
import type { Transaction } from '../kernel/nftables/transaction.ts';
import { watchRuleset } from '../kernel/nftables/watch-ruleset.ts';

/**
 * Transactions from this size on are committed with the event queue closed where that is safe: making an event for each
 * element, only to drop it, doubles the time the kernel takes.
 */
const QUIET_FROM_OPERATIONS = 1000;

/** linux/netfilter.h: NFPROTO_IPV4, NFPROTO_IPV6. */
const FAMILIES: ReadonlyMap<number, IpFamily> = new Map([
  [2, 'IPv4'],
  [10, 'IPv6'],
]);

export interface ForeignEdits {
  /** The connection to commit with: its changes are no foreign edits, and what others do meanwhile is noticed. */
  readonly kernel: NftablesKernel;
  close(): void;
}

/**
 * Tells when somebody else changes our tables: the kernel sends an event for each change of the ruleset, with the
 * netlink address of who made it, and the process's name at the end of a transaction.
 */
export function watchForeignEdits(options: {
  readonly own: NftablesConnection;
  readonly families: readonly IpFamily[];
  readonly logger: Logger;
  readonly onForeignEdit: (family: IpFamily, what: string) => void;
}): ForeignEdits {
  const { own, families, logger, onForeignEdit } = options;
  /** What the transaction that is being told about changed in our tables. */
  let edits = new Map<IpFamily, string>();
  /** Somebody else has changed the ruleset, be it other tables, since the last big transaction. */
  let othersAreActive = false;
  const all = (what: string) => {
    for (const family of families) onForeignEdit(family, what);
  };
  const socket = openNetlinkSocket(NETLINK_NETFILTER);
  socket.ignoreEventsOf(own.portId);
  /** Returns `undefined`, with nothing done, when somebody else was quicker. */
  const commitUnheard = (transaction: Transaction): number | undefined => {
    const before = own.generation().generation;
    try {
      const size = watch.pause(() => own.commit(transaction, { generation: before }));
      // Nothing was changed before the commit, so only the moment behind it is left to look at.
      if (own.generation().generation !== before + 1) all('changes during a full sync');
      return size;
    } catch (error) {
      if (errorCode(error) === 'NFT_GENERATION_CHANGED') return undefined;
      throw error;
    }
  };
  const watch = watchRuleset(socket, {
    onEvent(event) {
      if (event.kind !== 'generation') {
        const family = FAMILIES.get(event.familyNumber);
        if (event.table !== TABLE || family === undefined || edits.has(family)) return;
        edits.set(family, describe(event));
        return;
      }
      othersAreActive = true;
      const done = edits;
      edits = new Map();
      for (const [family, what] of done)
        onForeignEdit(family, `${what} by ${event.processName} (pid ${event.processId})`);
    },
    onLost: () => all('events were lost'),
    onError: (error) => logger.error('Changes of the ruleset by others may go unnoticed', error),
  });
  return {
    kernel: {
      listNames: (family, table) => own.listNames(family, table),
      close: () => own.close(),
      commit(transaction) {
        if (transaction.size < QUIET_FROM_OPERATIONS) return own.commit(transaction);
        const isSafe = !othersAreActive;
        othersAreActive = false;
        const size = isSafe ? commitUnheard(transaction) : undefined;
        return size ?? own.commit(transaction);
      },
    },
    close() {
      watch.close();
      socket.close();
    },
  };
}

function describe(event: Exclude<RulesetEvent, { kind: 'generation' }>): string {
  const name = event.name === undefined ? '' : ` ${event.name}`;
  return `${event.kind === 'new' ? 'added or changed' : 'deleted'} ${event.object}${name}`;
}
