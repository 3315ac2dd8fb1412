import { watchNetlinkEvents } from '../netlink/netlink-events.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { NFNLGRP_NFTABLES } from './constants.ts';
import { decodeRulesetEvent, type RulesetEvent } from './ruleset-event.ts';

export interface RulesetListener {
  onEvent(event: RulesetEvent): void;
  /** The queue was full: what was learned from events has to be read anew. */
  onLost(): void;
  onError(error: unknown): void;
}

/**
 * Delivers the changes everybody makes to the ruleset of the socket's network namespace, our own included: tell them
 * by the port id. A transaction's changes are followed by one `generation` event.
 *
 * Each element costs an event, so a socket that listens while a hundred thousand are added loses some (`onLost`) and
 * slows the transaction down; {@link RulesetWatch.pause} leaves the group for as long as that takes.
 * Closing leaves the group; the socket belongs to the caller.
 */
export function watchRuleset(socket: NetlinkSocket, listener: RulesetListener): RulesetWatch {
  socket.joinGroup(NFNLGRP_NFTABLES);
  const watch = watchNetlinkEvents(socket, {
    onMessage(message) {
      const event = decodeRulesetEvent(message);
      if (event !== undefined) listener.onEvent(event);
    },
    onOverrun: () => listener.onLost(),
    onError: (error) => listener.onError(error),
  });
  let open = true;
  return {
    pause(work) {
      if (open) socket.leaveGroup(NFNLGRP_NFTABLES);
      try {
        return work();
      } finally {
        if (open) socket.joinGroup(NFNLGRP_NFTABLES);
      }
    },
    close() {
      if (!open) return;
      open = false;
      watch.close();
      socket.leaveGroup(NFNLGRP_NFTABLES);
    },
  };
}

export interface RulesetWatch {
  /**
   * Runs synchronous work without receiving its events. Changes others make meanwhile go unseen too; the ruleset's
   * generation tells: it goes up by one with each transaction.
   */
  pause<Result>(work: () => Result): Result;
  close(): void;
}
