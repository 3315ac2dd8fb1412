import { type EncodedBatch, type EncodeOptions, encodeBatch } from './batch-encoder.ts';
import type { Elements, Family, NftObject, ObjectName } from './objects.ts';
import { operationLines } from './operation-text.ts';

/** One step of a transaction. */
export type Operation =
  | { readonly verb: 'add'; readonly object: NftObject }
  | { readonly verb: 'create'; readonly object: NftObject }
  | { readonly verb: 'delete'; readonly object: ObjectName | Elements }
  | { readonly verb: 'flush'; readonly object: ObjectName };

/**
 * Changes to one table that the kernel applies all or none, in order. It only collects; `NftablesConnection.commit`
 * sends it, and {@link toString} prints it for `nft -f`.
 *
 * `add` of what exists is harmless as long as it is the same; `create` of it fails. `delete` of what does not exist
 * fails. Elements are the exception the kernel makes: adding a key with other data fails, so a change is delete + add.
 */
export class Transaction {
  readonly family: Family;
  readonly table: string;
  readonly operations: Operation[] = [];

  constructor(family: Family, table: string) {
    this.family = family;
    this.table = table;
  }

  /** Whether nothing is to be done. */
  get isEmpty(): boolean {
    return this.operations.length === 0;
  }

  add(object: NftObject): this {
    this.operations.push({ verb: 'add', object });
    return this;
  }

  /** Adds what must not exist yet. */
  create(object: NftObject): this {
    this.operations.push({ verb: 'create', object });
    return this;
  }

  /** Deletes what must exist. Sets, maps and chains must be unused by then; a table goes with all it holds. */
  delete(object: ObjectName | Elements): this {
    this.operations.push({ verb: 'delete', object });
    return this;
  }

  /** Removes the rules of a chain, the elements of a set, or the rules of all chains of the table. */
  flush(object: ObjectName): this {
    this.operations.push({ verb: 'flush', object });
    return this;
  }

  /** Deletes the table, or a chain that is no base chain, whether or not it exists; works on every kernel: adds it first. */
  destroy(object: { readonly kind: 'table' } | { readonly kind: 'chain'; readonly name: string }): this {
    return this.add(object).delete(object);
  }

  /** Elements counted one by one, everything else as one operation each. */
  get size(): number {
    let size = 0;
    for (const { object } of this.operations) size += object.kind === 'elements' ? object.rows.count : 1;
    return size;
  }

  /** The transaction as one netlink datagram; see {@link encodeBatch}. */
  encode(options: EncodeOptions = {}): EncodedBatch {
    return encodeBatch(this, options);
  }

  /** One command per line, readable by `nft -f`. */
  toString(): string {
    let text = '';
    for (const operation of this.operations) {
      for (const line of operationLines(operation, this.family, this.table)) text += `${line}\n`;
    }
    return text;
  }
}
