import { EEXIST, ENOENT, errnoName } from '../../native/errno.ts';
import { quoteOperation } from '../commit-error.ts';
import { describeTable } from '../describe-table.ts';
import type { Generation } from '../generation.ts';
import type { CommitOptions, ListOptions } from '../nftables-connection.ts';
import { NftablesError } from '../nftables-error.ts';
import type { Family, NftMap, NftSet } from '../objects.ts';
import type { PackedElements } from '../packed-elements.ts';
import type { TableListing } from '../table-listing.ts';
import { type TableNames, tableNames } from '../table-names.ts';
import type { Operation, Transaction } from '../transaction.ts';
import { FakeTable, Refusal } from './fake-table.ts';
import { validateTable } from './validate-table.ts';

/**
 * nf_tables in memory, with the verbs of NftablesConnection. Transactions are atomic and are refused for the reasons
 * and with the errors the kernel has (those the dataplane can run into; see its tests for the list).
 */
export class FakeNftables {
  readonly portId = 1;
  /** The transactions that were applied, oldest first. */
  readonly committed: Transaction[] = [];
  /** When set, decides for each operation whether to fail with an errno. */
  refuse: ((operation: Operation, index: number) => number | undefined) | undefined;
  /**
   * Behaves like Linux before 6.2: a chain that an element led to counts as used until {@link settle}, though the
   * element has gone.
   */
  lingers = false;
  #tables = new Map<string, FakeTable>();
  #generation = 1;

  commit(transaction: Transaction, options: CommitOptions = {}): number {
    if (options.generation !== undefined && options.generation !== this.#generation) {
      throw new NftablesError(
        { code: 'NFT_GENERATION_CHANGED', expected: options.generation },
        `nftables: the ruleset is at generation ${this.#generation}, not ${options.generation}`,
      );
    }
    if (transaction.isEmpty) return 0;
    this.#tables = this.#apply(transaction);
    this.#generation++;
    this.committed.push(transaction);
    return transaction.size;
  }

  check(transaction: Transaction): void {
    this.#apply(transaction);
  }

  generation(): Generation {
    return { generation: this.#generation, processId: 1, processName: 'fake' };
  }

  listNames(family: Family, table: string): TableNames | undefined {
    const found = this.#tables.get(`${family} ${table}`);
    if (found === undefined) return undefined;
    return tableNames(
      [...found.chains.values()].map(({ chain }) => chain),
      [...found.sets.values()].map(({ set }) => set),
      found.dormant,
    );
  }

  listTable(family: Family, table: string, options: ListOptions = {}): TableListing | undefined {
    const listing = this.#tables.get(`${family} ${table}`)?.listing();
    const { elements = true } = options;
    if (listing === undefined || elements === true) return listing;
    const sets = new Map(listing.sets);
    for (const [name, { set }] of sets) {
      if (elements === false || !elements(set)) sets.set(name, { set });
    }
    return { ...listing, sets };
  }

  listElements(family: Family, table: string, set: NftSet | NftMap): PackedElements | undefined {
    return this.#tables.get(`${family} ${table}`)?.listing().sets.get(set.name)?.rows;
  }

  /** All tables as sorted text, readable by `nft -f`. */
  dump(): string {
    const names = [...this.#tables.keys()].sort();
    return names.map((name) => describeTable(this.#tables.get(name)?.listing())).join('\n');
  }

  /** Lets chains go that are used no more; see {@link lingers}. */
  settle(): void {
    for (const table of this.#tables.values()) table.lingering.clear();
  }

  close(): void {}

  #apply(transaction: Transaction): Map<string, FakeTable> {
    // What cannot be encoded would not get as far as the kernel.
    transaction.encode();
    const key = `${transaction.family} ${transaction.table}`;
    const tables = new Map(this.#tables);
    let table = tables.get(key)?.copy();
    let index = 0;
    try {
      for (const operation of transaction.operations) {
        const injected = this.refuse?.(operation, index);
        if (injected !== undefined) throw new Refusal(injected, 'refused on request');
        table = apply(operation, table, transaction);
        if (!this.lingers) table?.lingering.clear();
        index++;
      }
      index = Math.max(0, index - 1);
      if (table !== undefined) validateTable(table);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw refused(transaction, index, error);
    }
    if (table === undefined) tables.delete(key);
    else tables.set(key, table);
    return tables;
  }
}

function apply(
  { verb, object }: Operation,
  table: FakeTable | undefined,
  transaction: Transaction,
): FakeTable | undefined {
  if (object.kind === 'table' && (verb === 'add' || verb === 'create')) {
    if (verb === 'create' && table !== undefined) throw new Refusal(EEXIST, 'the table exists');
    const dormant = 'dormant' in object && object.dormant === true;
    if (table !== undefined) {
      table.setDormant(dormant);
      return table;
    }
    const created = new FakeTable(transaction.family, transaction.table);
    if ('comment' in object) created.comment = object.comment;
    created.dormant = dormant;
    return created;
  }
  if (table === undefined) throw new Refusal(ENOENT, 'no such table');
  if (verb === 'flush') table.flush(object);
  else if (object.kind === 'table') return undefined;
  else if (verb === 'delete') table.delete(object);
  else table.add(object, verb === 'create');
  return table;
}

function refused(transaction: Transaction, index: number, { errno, message }: Refusal): NftablesError {
  const { family, table } = transaction;
  const text = quoteOperation(transaction, index);
  return new NftablesError(
    { code: 'NFT_OPERATION_FAILED', family, table, errno, failed: [{ index, text, errno, message }] },
    `table ${family} ${table}: kernel answered ${errnoName(errno)}: ${message} to: ${text}`,
  );
}
