import { type NetlinkMessage, NLMSG_OVERRUN, readMessages } from './message.ts';
import { NetlinkError } from './netlink-error.ts';
import type { NetlinkSocket } from './netlink-socket.ts';

/** Datagrams taken in one go before other work on the event loop gets its turn. */
const DATAGRAMS_PER_TURN = 64;

export interface NetlinkEventListener {
  /** One event. The message is a view that is overwritten afterwards. */
  onMessage(message: NetlinkMessage): void;
  /** Events were lost: whatever was learned from them has to be read anew. */
  onOverrun(): void;
  /** The events just handled were all there were for now: a good moment to act on several at once. */
  onDrained?(): void;
  /**
   * Receiving failed or a callback threw. The subscription goes on, except after NETLINK_SYSCALL_FAILED and
   * NETLINK_CLOSED, which end it.
   */
  onError(error: unknown): void;
}

/**
 * Delivers the multicast messages of a socket that has joined groups. The event loop itself watches the socket:
 * nothing polls, no thread waits, and the process may exit at any time. Any number of sockets may be watched.
 *
 * Closing ends the deliveries at once; the socket stays open and belongs to the caller.
 */
export function watchNetlinkEvents(socket: NetlinkSocket, listener: NetlinkEventListener): { close(): void } {
  let open = true;
  const close = (): void => {
    open = false;
    watch.close();
  };
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      listener.onError(error);
    }
  };
  const take = (): void => {
    for (let taken = 0; taken < DATAGRAMS_PER_TURN; taken++) {
      if (!open) return;
      let datagram: Buffer | undefined;
      try {
        datagram = socket.receive('now', 'receive events');
      } catch (error) {
        if (error instanceof NetlinkError && error.code === 'NETLINK_OVERRUN') {
          guarded(() => listener.onOverrun());
          continue;
        }
        if (!(error instanceof NetlinkError) || error.code !== 'NETLINK_MALFORMED') close();
        listener.onError(error);
        continue;
      }
      if (datagram === undefined) {
        guarded(() => listener.onDrained?.());
        return;
      }
      deliver(datagram);
    }
    // More may be queued, or exactly this much was: either way the listener is still owed its onDrained.
    setImmediate(take);
  };
  const watch = socket.watch(take);

  const deliver = (datagram: Buffer): void => {
    try {
      for (const message of readMessages(datagram)) {
        if (!open) return;
        if (message.type === NLMSG_OVERRUN) guarded(() => listener.onOverrun());
        else guarded(() => listener.onMessage(message));
      }
    } catch (error) {
      // A cut-off datagram: what it would have told is lost, which is what an overrun means.
      listener.onError(error);
      guarded(() => listener.onOverrun());
    }
  };

  return { close };
}
