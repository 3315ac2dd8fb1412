import type { IpFamily } from '../../base/ip.ts';
import { AttributeWriter } from '../netlink/attribute-writer.ts';
import {
  beginMessage,
  endMessage,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_EXCL,
  NLM_F_REQUEST,
} from '../netlink/message.ts';
import { type BatchResult, NetlinkConnection } from '../netlink/netlink-connection.ts';
import { isNotFound, NetlinkError } from '../netlink/netlink-error.ts';
import { NETLINK_ROUTE } from '../netlink/netlink-socket.ts';
import {
  type AddressKey,
  decodeAddress,
  encodeAddress,
  encodeAddressQuery,
  IFA_F_NODAD,
  type InterfaceAddress,
  RTM_DELADDR,
  RTM_GETADDR,
  RTM_NEWADDR,
} from './address-message.ts';
import {
  decodeLink,
  encodeLinkByName,
  encodeLinkQuery,
  encodeLinkState,
  encodeNewLink,
  type Link,
  RTM_DELLINK,
  RTM_GETLINK,
  RTM_NEWLINK,
} from './link-message.ts';

/** Outcome of one address in {@link RouteConnection.addAddresses} or `deleteAddresses`. */
export interface AddressRefusal {
  readonly address: AddressKey;
  readonly errno: number;
  readonly errnoName: string;
  readonly message?: string;
}

/**
 * Interfaces and addresses of the network namespace that the connection was opened in. All calls are synchronous and
 * throw NetlinkError; `add…` fails with EEXIST when the object is there (`isExists`), `delete…` when it is not
 * (`isNotFound` for links, EADDRNOTAVAIL for addresses).
 */
export class RouteConnection {
  readonly #connection: NetlinkConnection;

  constructor(connection: NetlinkConnection) {
    this.#connection = connection;
  }

  static open(): RouteConnection {
    return new RouteConnection(NetlinkConnection.open(NETLINK_ROUTE));
  }

  /** All addresses of all interfaces, down and tentative ones included; of one family when given. */
  listAddresses(family?: IpFamily): InterfaceAddress[] {
    return this.#list(
      'list addresses',
      RTM_GETADDR,
      (writer) => encodeAddressQuery(writer, family),
      decodeAddress,
    );
  }

  listLinks(): Link[] {
    return this.#list('list links', RTM_GETLINK, encodeLinkQuery, decodeLink);
  }

  /** The interface of this name, or `undefined`. */
  getLink(name: string): Link | undefined {
    let link: Link | undefined;
    try {
      this.#connection.request(
        { op: `get link ${name}`, type: RTM_GETLINK, body: (writer) => encodeLinkByName(writer, name) },
        (message) => {
          link = decodeLink(message);
        },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return link;
  }

  /** Adds an address. IPv6 addresses skip duplicate detection, so that they can be used at once. */
  addAddress(address: AddressKey): void {
    this.#connection.request({
      op: `add address ${address.ip}/${address.prefixLength}`,
      type: RTM_NEWADDR,
      flags: NLM_F_CREATE | NLM_F_EXCL,
      body: (writer) => encodeAddress(writer, address, newAddressFlags(address)),
    });
  }

  deleteAddress(address: AddressKey): void {
    this.#connection.request({
      op: `delete address ${address.ip}/${address.prefixLength}`,
      type: RTM_DELADDR,
      body: (writer) => encodeAddress(writer, address),
    });
  }

  /** Adds many addresses with few system calls. Returns those the kernel refused, EEXIST among them. */
  addAddresses(addresses: readonly AddressKey[]): AddressRefusal[] {
    return this.#batch('add addresses', addresses, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  }

  /** Deletes many addresses with few system calls. Returns those the kernel refused. */
  deleteAddresses(addresses: readonly AddressKey[]): AddressRefusal[] {
    return this.#batch('delete addresses', addresses, RTM_DELADDR, 0);
  }

  /** Creates an interface of kind `dummy`; it starts down. EOPNOTSUPP when the kernel has no such driver. */
  addDummyLink(name: string): void {
    this.#connection.request({
      op: `add dummy link ${name}`,
      type: RTM_NEWLINK,
      flags: NLM_F_CREATE | NLM_F_EXCL,
      body: (writer) => encodeNewLink(writer, name, 'dummy'),
    });
  }

  deleteLink(name: string): void {
    this.#connection.request({
      op: `delete link ${name}`,
      type: RTM_DELLINK,
      body: (writer) => encodeLinkByName(writer, name),
    });
  }

  setLinkState(index: number, isUp: boolean): void {
    this.#connection.request({
      op: `set link ${index} ${isUp ? 'up' : 'down'}`,
      type: RTM_NEWLINK,
      body: (writer) => encodeLinkState(writer, index, isUp),
    });
  }

  close(): void {
    this.#connection.close();
  }

  #list<T>(
    op: string,
    type: number,
    body: (writer: AttributeWriter) => void,
    decode: (message: NetlinkMessage) => T | undefined,
  ): T[] {
    const found: T[] = [];
    this.#connection.dump(
      { op, type, body },
      (message) => {
        const object = decode(message);
        if (object !== undefined) found.push(object);
      },
      {
        onRestart: () => {
          found.length = 0;
        },
      },
    );
    return found;
  }

  #batch(op: string, addresses: readonly AddressKey[], type: number, flags: number): AddressRefusal[] {
    const refusals: AddressRefusal[] = [];
    const writer = new AttributeWriter(16_384);
    for (let from = 0; from < addresses.length; from += BATCH_LENGTH) {
      const part = addresses.slice(from, from + BATCH_LENGTH);
      const firstSequence = this.#connection.reserveSequences(part.length);
      writer.reset();
      for (const [i, address] of part.entries()) {
        const token = beginMessage(writer, {
          type,
          flags: NLM_F_REQUEST | flags,
          sequence: firstSequence + i,
        });
        encodeAddress(writer, address, type === RTM_NEWADDR ? newAddressFlags(address) : 0);
        endMessage(writer, token);
      }
      const result = this.#connection.sendBatch(writer.finish(), { op, firstSequence, count: part.length });
      refusals.push(...refusalsOf(op, part, firstSequence, result));
    }
    return refusals;
  }
}

/** Even if the kernel refuses all of a batch, its answers fit the receive queue. */
const BATCH_LENGTH = 1024;

const newAddressFlags = (address: AddressKey): number => (address.ip.includes(':') ? IFA_F_NODAD : 0);

function refusalsOf(
  op: string,
  addresses: readonly AddressKey[],
  firstSequence: number,
  result: BatchResult,
): AddressRefusal[] {
  if (result.overrun) {
    throw new NetlinkError({ code: 'NETLINK_OVERRUN', op }, `${op}: the kernel's answers were lost`);
  }
  return result.rejections.map(({ sequence, errno, errnoName, message }) => ({
    address: addresses[sequence - firstSequence]!,
    errno,
    errnoName,
    ...(message === undefined ? {} : { message }),
  }));
}
