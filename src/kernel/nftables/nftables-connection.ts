import { NFGENMSG_LENGTH, netfilterType } from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { errnoOf, isNotFound, isNotPermitted, NetlinkError } from '../netlink/netlink-error.ts';
import { NETLINK_NETFILTER, type NetlinkSocketOptions } from '../netlink/netlink-socket.ts';
import { numberBatch } from './batch-encoder.ts';
import { commitError, notSupported, permissionDenied } from './commit-error.ts';
import { NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN } from './constants.ts';
import { decodeGeneration, type Generation } from './generation.ts';
import { layoutLength, layoutTypes } from './layout.ts';
import { type ElementLayout, listNames, listTable, TableReader } from './list-table.ts';
import { NftablesError } from './nftables-error.ts';
import type { Family, NftMap, NftSet } from './objects.ts';
import type { PackedElements } from './packed-elements.ts';
import type { TableListing } from './table-listing.ts';
import type { TableNames } from './table-names.ts';
import type { Transaction } from './transaction.ts';

/** Times a listing is read again because the ruleset changed meanwhile. */
const LISTING_ATTEMPTS = 5;

export interface CommitOptions {
  /** Apply only if the ruleset is still at this generation; NFT_GENERATION_CHANGED otherwise. */
  readonly generation?: number;
}

export interface ListOptions {
  /** Whose elements are read; default: those of all sets. */
  readonly elements?: boolean | ((set: NftSet | NftMap) => boolean);
}

interface ConsistencyOptions {
  readonly attempts?: number;
  /** What to do with a listing during which the ruleset changed, at the last attempt. */
  readonly onUnstable?: 'throw' | 'accept';
}

/**
 * nf_tables of one network namespace, over a netlink connection that it owns. Everything is synchronous.
 *
 * Errors: NftablesError for what concerns the ruleset, NetlinkError for the socket.
 */
export class NftablesConnection {
  readonly #connection: NetlinkConnection;

  constructor(connection: NetlinkConnection) {
    this.#connection = connection;
  }

  /**
   * Opens a socket in the network namespace of the calling thread.
   * Throws NftablesError (NFT_NOT_SUPPORTED) when the kernel has no netfilter sockets.
   */
  static open(options: NetlinkSocketOptions = {}): NftablesConnection {
    try {
      return new NftablesConnection(NetlinkConnection.open(NETLINK_NETFILTER, options));
    } catch (error) {
      const errno = errnoOf(error);
      if (isNotPermitted(error)) throw permissionDenied(error);
      if (errno !== undefined) throw notSupported('netfilter', errno, error);
      throw error;
    }
  }

  /** The netlink address of this connection; events of our own changes carry it. */
  get portId(): number {
    return this.#connection.portId;
  }

  /**
   * Applies a transaction, all or nothing, and returns its size (elements counted one by one). Packets see either
   * the old or the new state. Nothing is sent when there is nothing to do. Throws NftablesError:
   * NFT_OPERATION_FAILED, NFT_GENERATION_CHANGED, NFT_PERMISSION_DENIED, NFT_NOT_SUPPORTED, NFT_OUTCOME_UNKNOWN.
   */
  commit(transaction: Transaction, options: CommitOptions = {}): number {
    if (transaction.isEmpty && options.generation === undefined) return 0;
    const { acknowledged, overrun } = this.#send(transaction, options, false);
    const { family, table, size } = transaction;
    // Without operations there is nothing to acknowledge, only to refuse.
    if (acknowledged === 0 && size > 0) {
      throw new NftablesError(
        { code: 'NFT_OUTCOME_UNKNOWN', family, table },
        `table ${family} ${table}: ${overrun ? "the kernel's answer was lost" : 'the kernel did not answer'}`,
      );
    }
    return size;
  }

  /** Has the kernel validate a transaction without applying it. Throws what {@link commit} would. */
  check(transaction: Transaction): void {
    this.#send(transaction, {}, true);
  }

  /** The state of the whole ruleset of the namespace, and who made it. */
  generation(): Generation {
    let generation: Generation = { generation: 0, processId: 0, processName: '' };
    this.#connection.request(
      {
        op: 'get ruleset generation',
        type: netfilterType(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN),
        body: (writer) => void writer.reserve(NFGENMSG_LENGTH),
      },
      (message) => {
        generation = decodeGeneration(message.attributes('generation'));
      },
    );
    return generation;
  }

  /**
   * What a table holds, without rules and elements; `undefined` when there is no such table. Where others keep changing
   * the ruleset, mostly other tables, the last of a few attempts counts: a table of 10,000 chains takes longer to list
   * than a busy node keeps still. Should this table have been among what they changed, a commit that builds on the list
   * may be refused, and events tell of the change.
   */
  listNames(family: Family, table: string): TableNames | undefined {
    const read = () => listNames(new TableReader(this.#connection, family, table));
    return this.#consistent(`table ${family} ${table}`, read, { attempts: 3, onUnstable: 'accept' });
  }

  /**
   * Everything a table holds, as of one generation of the ruleset; `undefined` when there is no such table.
   * Throws NftablesError (NFT_DUMP_UNSTABLE) when others keep changing the ruleset.
   */
  listTable(family: Family, table: string, options: ListOptions = {}): TableListing | undefined {
    const { elements = true } = options;
    const wanted = typeof elements === 'boolean' ? () => elements : elements;
    return this.#consistent(`table ${family} ${table}`, () =>
      listTable(new TableReader(this.#connection, family, table), family, wanted),
    );
  }

  /**
   * The elements of a set or map whose layout is known; `undefined` when there is none of this name. The kernel takes
   * about a second for a hundred thousand elements: {@link listElementsInBackground} does not block meanwhile.
   */
  listElements(family: Family, table: string, set: NftSet | NftMap): PackedElements | undefined {
    try {
      return new TableReader(this.#connection, family, table).elements(elementLayout(set));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Like {@link listElements}, with the kernel's part on another thread. The connection serves nothing else meanwhile. */
  async listElementsInBackground(
    family: Family,
    table: string,
    set: NftSet | NftMap,
  ): Promise<PackedElements | undefined> {
    try {
      return await new TableReader(this.#connection, family, table).elementsInBackground(elementLayout(set));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  close(): void {
    this.#connection.close();
  }

  #send(transaction: Transaction, options: CommitOptions, dryRun: boolean) {
    const batch = transaction.encode({ ...options, dryRun });
    const firstSequence = this.#connection.reserveSequences(batch.count);
    numberBatch(batch, firstSequence);
    const { family, table } = transaction;
    let result: ReturnType<NetlinkConnection['sendBatch']>;
    try {
      const op = `${dryRun ? 'check' : 'commit'} table ${family} ${table}`;
      result = this.#connection.sendBatch(batch.bytes, { op, firstSequence, count: batch.count });
    } catch (error) {
      if (isNotPermitted(error)) throw permissionDenied(error);
      throw error;
    }
    if (result.rejections.length > 0) {
      throw commitError(transaction, batch, firstSequence, result.rejections, options.generation);
    }
    return result;
  }

  /** Reads until the ruleset is at the same generation before and after. */
  #consistent<Result>(
    what: string,
    read: () => Result,
    { attempts = LISTING_ATTEMPTS, onUnstable = 'throw' }: ConsistencyOptions = {},
  ): Result {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const before = this.generation().generation;
      let result: Result;
      try {
        result = read();
      } catch (error) {
        // A set or the table can go away between two dumps; interrupted dumps have been tried again already.
        const changed =
          isNotFound(error) || (error instanceof NetlinkError && error.code === 'NETLINK_DUMP_INTERRUPTED');
        if (changed && this.generation().generation !== before) continue;
        throw error;
      }
      if (this.generation().generation === before) return result;
      if (attempt === attempts && onUnstable === 'accept') return result;
    }
    throw new NftablesError(
      { code: 'NFT_DUMP_UNSTABLE', what, attempts },
      `${what}: the ruleset changed during each of ${attempts} listings`,
    );
  }
}

function elementLayout(set: NftSet | NftMap): ElementLayout {
  const keyLength = layoutLength(layoutTypes(set.key));
  const hasData = set.kind === 'map' && set.data !== 'verdict';
  return { set, keyLength, dataLength: hasData ? layoutLength(layoutTypes(set.data)) : 0 };
}
