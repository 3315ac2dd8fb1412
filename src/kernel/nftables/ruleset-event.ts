import { MESSAGE_HEADER, type NetlinkMessage } from '../netlink/message.ts';
import * as nft from './constants.ts';
import { decodeGeneration, type Generation } from './generation.ts';

/** What a ruleset event is about. `other` stands for objects and flow tables. */
export type RulesetObject = 'table' | 'chain' | 'rule' | 'set' | 'element' | 'other';

/** One change somebody made, or the end of a transaction with the name of who made it. */
export type RulesetEvent =
  | {
      readonly kind: 'new' | 'delete';
      readonly object: RulesetObject;
      /** Number of the table's family (NFPROTO_*): 2 is `ip`, 10 is `ip6`. */
      readonly familyNumber: number;
      readonly table: string;
      /** Name of the chain (for rules too) or set (for elements too). */
      readonly name?: string;
      /** Netlink address of the socket that asked for the change; compare with NftablesConnection.portId. */
      readonly portId: number;
    }
  | ({ readonly kind: 'generation'; readonly portId: number } & Generation);

interface Kind {
  readonly kind: 'new' | 'delete';
  readonly object: RulesetObject;
  /** Attributes that hold the table's and the object's name. */
  readonly table: number;
  readonly name?: number;
}

const object = (name: RulesetObject, table: number, attribute?: number) => {
  const common = { object: name, table, ...(attribute === undefined ? {} : { name: attribute }) };
  return { new: { kind: 'new', ...common } as const, delete: { kind: 'delete', ...common } as const };
};

const TABLE = object('table', nft.NFTA_TABLE_NAME);
const CHAIN = object('chain', nft.NFTA_CHAIN_TABLE, nft.NFTA_CHAIN_NAME);
const RULE = object('rule', nft.NFTA_RULE_TABLE, nft.NFTA_RULE_CHAIN);
const SET = object('set', nft.NFTA_SET_TABLE, nft.NFTA_SET_NAME);
const ELEMENT = object('element', nft.NFTA_SET_ELEM_LIST_TABLE, nft.NFTA_SET_ELEM_LIST_SET);
// NFTA_OBJ_TABLE, NFTA_OBJ_NAME, NFTA_FLOWTABLE_TABLE and NFTA_FLOWTABLE_NAME are 1 and 2 as well.
const OTHER = object('other', 1, 2);

/** By command; the numbers from 26 on are NFT_MSG_DESTROY* (Linux 6.3), which events of `destroy` carry. */
const KINDS: Readonly<Record<number, Kind>> = {
  [nft.NFT_MSG_NEWTABLE]: TABLE.new,
  [nft.NFT_MSG_DELTABLE]: TABLE.delete,
  [nft.NFT_MSG_NEWCHAIN]: CHAIN.new,
  [nft.NFT_MSG_DELCHAIN]: CHAIN.delete,
  [nft.NFT_MSG_NEWRULE]: RULE.new,
  [nft.NFT_MSG_DELRULE]: RULE.delete,
  [nft.NFT_MSG_NEWSET]: SET.new,
  [nft.NFT_MSG_DELSET]: SET.delete,
  [nft.NFT_MSG_NEWSETELEM]: ELEMENT.new,
  [nft.NFT_MSG_DELSETELEM]: ELEMENT.delete,
  18: OTHER.new,
  20: OTHER.delete,
  22: OTHER.new,
  24: OTHER.delete,
  26: TABLE.delete,
  27: CHAIN.delete,
  28: RULE.delete,
  29: SET.delete,
  30: ELEMENT.delete,
  31: OTHER.delete,
  32: OTHER.delete,
};

/** Reads a message of the group NFNLGRP_NFTABLES; `undefined` for those that report no change. */
export function decodeRulesetEvent(message: NetlinkMessage): RulesetEvent | undefined {
  const { type, portId } = message;
  if (type >> 8 !== nft.NFNL_SUBSYS_NFTABLES) return undefined;
  const command = type & 0xff;
  if (command === nft.NFT_MSG_NEWGEN) {
    return { kind: 'generation', portId, ...decodeGeneration(message.attributes('generation')) };
  }
  const known = KINDS[command];
  if (known === undefined) return undefined;
  let table = '';
  let name: string | undefined;
  const reader = message.attributes('event');
  while (reader.next()) {
    if (reader.type === known.table) table = reader.string();
    else if (reader.type === known.name) name = reader.string();
    // Names come first; an element list behind them can be long.
    if (table !== '' && (known.name === undefined || name !== undefined)) break;
  }
  const familyNumber = message.bytes[message.start + MESSAGE_HEADER] ?? 0;
  const { kind, object: what } = known;
  return { kind, object: what, familyNumber, table, ...(name === undefined ? {} : { name }), portId };
}
