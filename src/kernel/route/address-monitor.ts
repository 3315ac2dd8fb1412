import type { Clock, Timer } from '../../base/clock.ts';
import type { IpFamily } from '../../base/ip.ts';
import type { Logger } from '../../base/logger.ts';
import type { NetlinkMessage } from '../netlink/message.ts';
import { watchNetlinkEvents } from '../netlink/netlink-events.ts';
import { NETLINK_ROUTE, type NetlinkSocket, openNetlinkSocket } from '../netlink/netlink-socket.ts';
import {
  decodeAddress,
  type InterfaceAddress,
  RTM_DELADDR,
  RTM_NEWADDR,
  RTNLGRP_IPV4_IFADDR,
  RTNLGRP_IPV6_IFADDR,
} from './address-message.ts';
import { RouteConnection } from './route-connection.ts';

/** How long to wait before a failed listing is tried again, milliseconds. */
const RETRY_DELAY = 1000;

export interface AddressMonitorOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where to read and listen; the default is the calling thread's network namespace. */
  readonly openConnection?: () => RouteConnection;
  readonly openEventSocket?: () => NetlinkSocket;
}

/**
 * Knows the addresses of all interfaces at any time. It lists them once and then follows the kernel's events one by
 * one, so that thousands of addresses that come and go cost no more than their events; after lost events it lists
 * them again.
 *
 * `onChange` runs at most once per burst of events, and only if the set of addresses has become another one. The same
 * address on another interface, or with another prefix, counts as another one.
 */
export class AddressMonitor {
  readonly #options: AddressMonitorOptions;
  readonly #addresses = new Map<string, InterfaceAddress>();
  readonly #listeners = new Set<() => void>();
  /** Keys touched since the listeners were last told, with whether they were there then. */
  readonly #touched = new Map<string, boolean>();
  #connection: RouteConnection | undefined;
  #socket: NetlinkSocket | undefined;
  #retry: Timer | undefined;
  #closed = true;

  constructor(options: AddressMonitorOptions) {
    this.#options = options;
  }

  /** Lists the addresses and begins to follow changes. Throws NetlinkError; then nothing is left open. */
  start(): void {
    this.#closed = false;
    try {
      this.#open();
    } catch (error) {
      this.close();
      throw error;
    }
    this.#touched.clear();
  }

  /** Canonical texts without duplicates, in no particular order; of one family when given. */
  addresses(family?: IpFamily): string[] {
    const found = new Set<string>();
    for (const address of this.#addresses.values()) {
      if (family === undefined || address.family === family) found.add(address.ip);
    }
    return [...found];
  }

  /** Registers a callback; the returned function takes it back. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#closeSockets();
  }

  #open(): void {
    const { openConnection = RouteConnection.open, openEventSocket = openRouteSocket } = this.#options;
    this.#connection = openConnection();
    const socket = openEventSocket();
    this.#socket = socket;
    // Subscribed before listing: a change in between is seen twice rather than never.
    for (const group of [RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR]) socket.joinGroup(group);
    watchNetlinkEvents(socket, {
      onMessage: (message) => this.#apply(message),
      onOverrun: () => this.#recover('address events were lost', () => this.#list()),
      onDrained: () => this.#notify(),
      onError: (error) => {
        this.#options.logger.error('Following address changes failed', error);
        this.#recover('an address event could not be read', () => this.#reopen());
      },
    });
    this.#list();
  }

  #reopen(): void {
    this.#closeSockets();
    this.#open();
  }

  #closeSockets(): void {
    this.#socket?.close();
    this.#connection?.close();
    this.#socket = undefined;
    this.#connection = undefined;
  }

  #recover(reason: string, attempt: () => void): void {
    if (this.#closed) return;
    this.#options.logger.verbose(2, 'Listing the node addresses again', { reason });
    this.#retry?.cancel();
    this.#retry = undefined;
    try {
      attempt();
    } catch (error) {
      this.#options.logger.error('Listing the node addresses failed', error);
      this.#retry = this.#options.clock.schedule(RETRY_DELAY, () => {
        this.#recover('the last attempt failed', () => this.#reopen());
      });
      return;
    }
    this.#notify();
  }

  #apply(message: NetlinkMessage): void {
    if (message.type !== RTM_NEWADDR && message.type !== RTM_DELADDR) return;
    const address = decodeAddress(message);
    if (address === undefined) return;
    const key = keyOf(address);
    this.#touch(key);
    if (message.type === RTM_NEWADDR) this.#addresses.set(key, address);
    else this.#addresses.delete(key);
  }

  #list(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    const addresses = connection.listAddresses();
    for (const key of this.#addresses.keys()) this.#touch(key);
    this.#addresses.clear();
    for (const address of addresses) {
      const key = keyOf(address);
      this.#touch(key);
      this.#addresses.set(key, address);
    }
  }

  #touch(key: string): void {
    if (!this.#touched.has(key)) this.#touched.set(key, this.#addresses.has(key));
  }

  #notify(): void {
    let changed = false;
    for (const [key, was] of this.#touched) changed ||= was !== this.#addresses.has(key);
    this.#touched.clear();
    if (!changed) return;
    for (const listener of this.#listeners) listener();
  }
}

const openRouteSocket = (): NetlinkSocket => openNetlinkSocket(NETLINK_ROUTE);

/** An address may be on several interfaces; on one, once for each prefix length. */
const keyOf = (address: InterfaceAddress): string =>
  `${address.interfaceIndex}/${address.ip}/${address.prefixLength}`;
