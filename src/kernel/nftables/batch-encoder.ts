import { AttributeWriter } from '../netlink/attribute-writer.ts';
import { readHostU16, readHostU32, writeHostU16, writeHostU32 } from '../netlink/byte-order.ts';
import {
  beginNetfilterMessage,
  endMessage,
  MESSAGE_HEADER,
  NFNL_BATCH_GENID,
  NFNL_MSG_BATCH_BEGIN,
  NFNL_MSG_BATCH_END,
  NLM_F_ACK,
  NLM_F_APPEND,
  NLM_F_CREATE,
  NLM_F_EXCL,
  NLM_F_REQUEST,
  netfilterType,
} from '../netlink/message.ts';
import * as nft from './constants.ts';
import { encodeElements, estimateElements } from './element-encoder.ts';
import { encodeChain, encodeRule, encodeTable } from './object-codec.ts';
import type { Elements, NftObject, ObjectName, Rule } from './objects.ts';
import { encodeSet } from './set-codec.ts';
import { RuleBuilder } from './statement/rule-builder.ts';
import { compileStatements } from './statement/statement.ts';
import type { Operation, Transaction } from './transaction.ts';

/** What a message of a batch belongs to. */
export interface MessageOrigin {
  readonly operation: number;
  /** For element lists: the rows in this message. */
  readonly from?: number;
  readonly to?: number;
}

/** A transaction as one netlink datagram. */
export interface EncodedBatch {
  /** BATCH_BEGIN, the messages, BATCH_END; numbered from 1 on. */
  readonly bytes: Buffer;
  /** Messages in the batch, begin and end included. */
  readonly count: number;
  /** Where each message comes from, by its number; begin and end have no entry. */
  readonly origins: readonly (MessageOrigin | undefined)[];
}

export interface EncodeOptions {
  /** Refuse the batch (ERESTART) unless the ruleset is at this generation. */
  readonly generation?: number;
  /** Validate only: without BATCH_END the kernel undoes everything. Each message asks for an ACK. */
  readonly dryRun?: boolean;
}

/**
 * Encodes a transaction. Throws AttributeError or NftablesError (NFT_VALUE_INVALID) that name the value at fault.
 * Only the last message asks for an acknowledgement; errors come for each message that failed, and for BATCH_BEGIN when
 * the batch as a whole does. (BATCH_END itself is acknowledged by kernels from 6.10 on only.)
 */
export function encodeBatch(transaction: Transaction, options: EncodeOptions = {}): EncodedBatch {
  return new BatchEncoder(transaction, options).encode();
}

/** Renumbers the messages of a batch from `first` on. */
export function numberBatch(batch: EncodedBatch, first: number): void {
  const { bytes } = batch;
  let sequence = first;
  for (let at = 0; at < bytes.length; at += readHostU32(bytes, at)) writeHostU32(bytes, sequence++, at + 8);
}

class BatchEncoder {
  readonly #transaction: Transaction;
  readonly #options: EncodeOptions;
  readonly #writer: AttributeWriter;
  readonly #family: number;
  readonly #origins: (MessageOrigin | undefined)[] = [undefined];
  readonly #ack: number;
  #sequence = 0;
  #setId = 0;
  /** Where the last message of an operation starts. */
  #last: number | undefined;

  constructor(transaction: Transaction, options: EncodeOptions) {
    this.#transaction = transaction;
    this.#options = options;
    this.#family = nft.FAMILY_NUMBERS[transaction.family];
    this.#ack = options.dryRun === true ? NLM_F_ACK : 0;
    this.#writer = new AttributeWriter(estimate(transaction));
  }

  encode(): EncodedBatch {
    this.#batchEdge(NFNL_MSG_BATCH_BEGIN);
    for (const [index, operation] of this.#transaction.operations.entries()) {
      this.#writer.enter('operations');
      this.#writer.enter(index);
      this.#operation(operation, index);
      this.#writer.leave();
      this.#writer.leave();
    }
    if (this.#options.dryRun !== true) {
      if (this.#last !== undefined) addFlags(this.#writer.bytes, this.#last, NLM_F_ACK);
      this.#batchEdge(NFNL_MSG_BATCH_END);
    }
    return { bytes: this.#writer.finish(), count: this.#sequence, origins: this.#origins };
  }

  #batchEdge(type: number): void {
    const token = beginNetfilterMessage(
      this.#writer,
      { type, flags: NLM_F_REQUEST, sequence: ++this.#sequence },
      0,
      nft.NFNL_SUBSYS_NFTABLES,
    );
    const { generation } = this.#options;
    if (type === NFNL_MSG_BATCH_BEGIN && generation !== undefined) {
      this.#writer.addU32be(NFNL_BATCH_GENID, generation);
    }
    endMessage(this.#writer, token);
    this.#origins[this.#sequence] = undefined;
  }

  #operation(operation: Operation, index: number): void {
    const { verb, object } = operation;
    if (verb === 'delete') this.#delete(object, index);
    else if (verb === 'flush') this.#flush(object, index);
    else this.#add(object, NLM_F_CREATE | (verb === 'create' ? NLM_F_EXCL : 0), index);
  }

  #add(object: NftObject, flags: number, operation: number): void {
    const { table } = this.#transaction;
    switch (object.kind) {
      case 'table':
        this.#message(nft.NFT_MSG_NEWTABLE, flags, { operation }, 'table', (writer) =>
          encodeTable(writer, table, object),
        );
        break;
      case 'chain':
        this.#message(nft.NFT_MSG_NEWCHAIN, flags, { operation }, 'chain', (writer) =>
          encodeChain(writer, table, object),
        );
        break;
      case 'set':
      case 'map':
        this.#message(nft.NFT_MSG_NEWSET, flags, { operation }, object.kind, (writer) =>
          encodeSet(writer, table, object, ++this.#setId),
        );
        break;
      case 'rule':
        this.#addRule(object, operation);
        break;
      case 'elements':
        this.#elements(nft.NFT_MSG_NEWSETELEM, flags, object, operation);
        break;
    }
  }

  #addRule(rule: Rule, operation: number): void {
    const { table, family } = this.#transaction;
    const builder = new RuleBuilder(family, () => ++this.#setId);
    compileStatements(builder, rule.statements);
    for (const { id, set, rows } of builder.anonymous) {
      this.#message(nft.NFT_MSG_NEWSET, NLM_F_CREATE, { operation }, 'set', (writer) =>
        encodeSet(writer, table, set, id, true),
      );
      this.#elements(
        nft.NFT_MSG_NEWSETELEM,
        NLM_F_CREATE,
        { kind: 'elements', of: set, rows },
        operation,
        id,
      );
    }
    this.#message(nft.NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, { operation }, 'rule', (writer) =>
      encodeRule(writer, table, rule, builder.exprs),
    );
  }

  #delete(object: ObjectName | Elements, operation: number): void {
    const { table } = this.#transaction;
    switch (object.kind) {
      case 'table':
        this.#message(nft.NFT_MSG_DELTABLE, 0, { operation }, 'table', (writer) =>
          writer.addString(nft.NFTA_TABLE_NAME, table),
        );
        break;
      case 'chain':
        this.#message(nft.NFT_MSG_DELCHAIN, 0, { operation }, 'chain', (writer) => {
          writer.addString(nft.NFTA_CHAIN_TABLE, table);
          writer.addString(nft.NFTA_CHAIN_NAME, object.name);
        });
        break;
      case 'set':
      case 'map':
        this.#message(nft.NFT_MSG_DELSET, 0, { operation }, object.kind, (writer) => {
          writer.addString(nft.NFTA_SET_TABLE, table);
          writer.addString(nft.NFTA_SET_NAME, object.name);
        });
        break;
      case 'rule':
        this.#message(nft.NFT_MSG_DELRULE, 0, { operation }, 'rule', (writer) => {
          writer.addString(nft.NFTA_RULE_TABLE, table);
          writer.addString(nft.NFTA_RULE_CHAIN, object.chain);
          writer.addU64be(nft.NFTA_RULE_HANDLE, object.handle);
        });
        break;
      case 'elements':
        this.#elements(nft.NFT_MSG_DELSETELEM, 0, object, operation);
        break;
    }
  }

  #flush(object: ObjectName, operation: number): void {
    const { table } = this.#transaction;
    if (object.kind === 'set' || object.kind === 'map') {
      this.#message(nft.NFT_MSG_DELSETELEM, 0, { operation }, object.kind, (writer) => {
        writer.addString(nft.NFTA_SET_ELEM_LIST_TABLE, table);
        writer.addString(nft.NFTA_SET_ELEM_LIST_SET, object.name);
      });
      return;
    }
    if (object.kind === 'rule') {
      this.#delete(object, operation);
      return;
    }
    // Rules of all chains when only the table is named.
    this.#message(nft.NFT_MSG_DELRULE, 0, { operation }, object.kind, (writer) => {
      writer.addString(nft.NFTA_RULE_TABLE, table);
      if (object.kind === 'chain') writer.addString(nft.NFTA_RULE_CHAIN, object.name);
    });
  }

  #elements(command: number, flags: number, { of, rows }: Elements, operation: number, setId?: number): void {
    const keysOnly = command === nft.NFT_MSG_DELSETELEM;
    for (let from = 0; from < rows.count; ) {
      let to = from;
      const origin = { operation, from, to };
      this.#message(command, flags, origin, of.name, (writer) => {
        writer.addString(nft.NFTA_SET_ELEM_LIST_TABLE, this.#transaction.table);
        writer.addString(nft.NFTA_SET_ELEM_LIST_SET, of.name);
        if (setId !== undefined) writer.addU32be(nft.NFTA_SET_ELEM_LIST_SET_ID, setId);
        to = encodeElements(writer, rows, from, keysOnly);
      });
      origin.to = to;
      from = to;
    }
  }

  #message(
    command: number,
    flags: number,
    origin: MessageOrigin,
    name: string,
    body: (writer: AttributeWriter) => void,
  ): void {
    const writer = this.#writer;
    writer.enter(name);
    const token = beginNetfilterMessage(
      writer,
      {
        type: netfilterType(nft.NFNL_SUBSYS_NFTABLES, command),
        flags: NLM_F_REQUEST | flags | this.#ack,
        sequence: ++this.#sequence,
      },
      this.#family,
    );
    body(writer);
    endMessage(writer, token);
    writer.leave();
    this.#last = token;
    this.#origins[this.#sequence] = origin;
  }
}

/** `at` is where a message starts. */
function addFlags(bytes: Buffer, at: number, flags: number): void {
  writeHostU16(bytes, readHostU16(bytes, at + 6) | flags, at + 6);
}

/** Bytes a transaction takes at most, about; growing the buffer copies it. */
function estimate(transaction: Transaction): number {
  let bytes = 256;
  for (const { object } of transaction.operations) {
    bytes += object.kind === 'elements' ? estimateElements(object.rows) : MESSAGE_HEADER + 768;
  }
  return bytes;
}
