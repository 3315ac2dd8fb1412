import type { AttributeReader } from '../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { type NetlinkMessage, NFGENMSG_LENGTH, netfilterType } from '../netlink/message.ts';
import type { DumpOptions, NetlinkConnection } from '../netlink/netlink-connection.ts';
import { isNotFound } from '../netlink/netlink-error.ts';
import * as nft from './constants.ts';
import { decodeElements } from './element-decoder.ts';
import { layoutTypes } from './layout.ts';
import { type DecodedRule, type DecodedTable, decodeChain, decodeRule, decodeTable } from './object-codec.ts';
import type { Chain, Family, NftMap, NftSet, Rule } from './objects.ts';
import { PackedElements } from './packed-elements.ts';
import { type DecodedSet, decodeSet } from './set-codec.ts';
import type { AnonymousResolver } from './statement/expr-cursor.ts';
import { recognizeStatements } from './statement/statement.ts';
import type { ChainListing, SetListing, TableListing } from './table-listing.ts';
import { type TableNames, tableNames } from './table-names.ts';

/** A set with the lengths of its rows. */
export type ElementLayout = Pick<DecodedSet, 'set' | 'keyLength' | 'dataLength'>;

/** Single dumps of the objects of one table. Each is consistent in itself; see {@link listTable} for the whole. */
export class TableReader {
  readonly #connection: NetlinkConnection;
  readonly #family: Family;
  readonly #table: string;

  constructor(connection: NetlinkConnection, family: Family, table: string) {
    this.#connection = connection;
    this.#family = family;
    this.#table = table;
  }

  /** The table itself, or `undefined` when it does not exist. */
  table(): DecodedTable | undefined {
    let found: DecodedTable | undefined;
    try {
      this.#connection.request(
        {
          op: `get table ${this.#family} ${this.#table}`,
          type: netfilterType(nft.NFNL_SUBSYS_NFTABLES, nft.NFT_MSG_GETTABLE),
          body: (writer) => {
            this.#header(writer);
            writer.addString(nft.NFTA_TABLE_NAME, this.#table);
          },
        },
        (message) => {
          found = decodeTable(message.attributes('table'));
        },
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    return found;
  }

  chains(options: DumpOptions = {}): Chain[] {
    const chains: Chain[] = [];
    const decode = (reader: AttributeReader): Chain | undefined => {
      const { table, chain } = decodeChain(reader);
      return table === this.#table ? chain : undefined;
    };
    // Kernels without a filter for chains answer with those of all tables.
    this.#dump('chains', nft.NFT_MSG_GETCHAIN, nft.NFTA_CHAIN_TABLE, chains, decode, options);
    return chains;
  }

  sets(options: DumpOptions = {}): DecodedSet[] {
    const sets: DecodedSet[] = [];
    const decode = (reader: AttributeReader): DecodedSet | undefined => {
      const set = decodeSet(reader);
      return set.table === this.#table ? set : undefined;
    };
    this.#dump('sets', nft.NFT_MSG_GETSET, nft.NFTA_SET_TABLE, sets, decode, options);
    return sets;
  }

  rules(): DecodedRule[] {
    const rules: DecodedRule[] = [];
    this.#dump('rules', nft.NFT_MSG_GETRULE, nft.NFTA_RULE_TABLE, rules, (reader) => {
      const rule = decodeRule(reader);
      return rule.table === this.#table ? rule : undefined;
    });
    return rules;
  }

  /** The elements of a set, in the kernel's order. Throws NetlinkError (ENOENT) when there is no such set. */
  elements(of: ElementLayout): PackedElements {
    const dump = this.#elementDump(of);
    this.#connection.dump(dump.request, dump.onMessage, dump);
    return dump.rows();
  }

  /** Like {@link elements}, with the kernel's part on another thread. */
  async elementsInBackground(of: ElementLayout): Promise<PackedElements> {
    const dump = this.#elementDump(of);
    await this.#connection.dumpInBackground(dump.request, dump.onMessage, dump);
    return dump.rows();
  }

  #elementDump({ set, keyLength, dataLength }: ElementLayout) {
    const keyFields = layoutTypes(set.key).length;
    const dataFields = set.kind === 'map' && set.data !== 'verdict' ? layoutTypes(set.data).length : 0;
    const capacity = Math.min(set.size ?? 16, 4096);
    const create = () => new PackedElements(keyLength, dataLength, capacity, keyFields, dataFields);
    let rows = create();
    return {
      request: {
        op: `list elements of ${this.#family} ${this.#table} ${set.name}`,
        type: netfilterType(nft.NFNL_SUBSYS_NFTABLES, nft.NFT_MSG_GETSETELEM),
        body: (writer: AttributeWriter) => {
          this.#header(writer);
          writer.addString(nft.NFTA_SET_ELEM_LIST_TABLE, this.#table);
          writer.addString(nft.NFTA_SET_ELEM_LIST_SET, set.name);
        },
      },
      onMessage: (message: NetlinkMessage) => decodeElements(message.attributes('elements'), rows),
      onRestart: () => {
        rows = create();
      },
      rows: () => rows,
    };
  }

  #dump<Item>(
    what: string,
    command: number,
    tableAttribute: number,
    into: Item[],
    decode: (reader: AttributeReader) => Item | undefined,
    options: DumpOptions = {},
  ): void {
    this.#connection.dump(
      {
        op: `list ${what} of ${this.#family} ${this.#table}`,
        type: netfilterType(nft.NFNL_SUBSYS_NFTABLES, command),
        body: (writer) => {
          this.#header(writer);
          writer.addString(tableAttribute, this.#table);
        },
      },
      (message) => {
        const item = decode(message.attributes(what));
        if (item !== undefined) into.push(item);
      },
      {
        ...options,
        onRestart: () => {
          into.length = 0;
        },
      },
    );
  }

  #header(writer: AttributeWriter): void {
    const at = writer.reserve(NFGENMSG_LENGTH);
    writer.bytes[at] = nft.FAMILY_NUMBERS[this.#family];
  }
}

/**
 * Chains and sets without what they hold, or `undefined` when there is no such table. Changes that others make meanwhile
 * do not start it again: the caller looks at the generation.
 */
export function listNames(reader: TableReader): TableNames | undefined {
  const table = reader.table();
  if (table === undefined) return undefined;
  const once: DumpOptions = { attempts: 1, onInterrupted: 'accept' };
  const sets = reader.sets(once).filter(({ anonymous }) => !anonymous);
  return tableNames(
    reader.chains(once),
    sets.map(({ set }) => set),
    table.dormant === true,
  );
}

/** Everything in a table, or `undefined` when it is not there. `wanted` says whose elements are read. */
export function listTable(
  reader: TableReader,
  family: Family,
  wanted: (set: NftSet | NftMap) => boolean,
): TableListing | undefined {
  const table = reader.table();
  if (table === undefined) return undefined;
  const chains = new Map<string, ChainListing & { readonly rules: Rule[] }>();
  for (const chain of reader.chains()) chains.set(chain.name, { chain, rules: [] });
  const anonymous = new Map<string, Required<SetListing>>();
  const sets = new Map<string, SetListing>();
  for (const decoded of reader.sets()) {
    const { set } = decoded;
    if (decoded.anonymous) anonymous.set(set.name, { set, rows: reader.elements(decoded) });
    else sets.set(set.name, wanted(set) ? { set, rows: reader.elements(decoded) } : { set });
  }
  const resolve: AnonymousResolver = (name) => anonymous.get(name);
  for (const rule of reader.rules()) {
    const { chain, handle, exprs, comment } = rule;
    chains.get(chain)?.rules.push({
      kind: 'rule',
      chain,
      statements: recognizeStatements(family, exprs, resolve),
      ...(comment === undefined ? {} : { comment }),
      handle,
    });
  }
  return {
    family,
    table: table.name,
    ...(table.comment === undefined ? {} : { comment: table.comment }),
    ...(table.dormant === undefined ? {} : { dormant: table.dormant }),
    ...(table.owner === undefined ? {} : { owner: table.owner }),
    chains,
    sets,
  };
}
