import type { AttributeReader } from '../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { commentUserdata, userdataComment } from './comment.ts';
import * as nft from './constants.ts';
import { decodeExpr, type Expr, encodeExpr } from './expr/expr.ts';
import type { BaseChain, Chain, Rule, Table } from './objects.ts';

const NF_DROP = 0;
const NF_ACCEPT = 1;

/** Appends the attributes of NFT_MSG_NEWTABLE. */
export function encodeTable(
  writer: AttributeWriter,
  name: string,
  { comment, dormant, owner }: Omit<Table, 'kind'>,
): void {
  const flags =
    (dormant === true ? nft.NFT_TABLE_F_DORMANT : 0) | (owner === true ? nft.NFT_TABLE_F_OWNER : 0);
  writer.addString(nft.NFTA_TABLE_NAME, name);
  writer.addU32be(nft.NFTA_TABLE_FLAGS, flags);
  if (comment !== undefined) writer.addBytes(nft.NFTA_TABLE_USERDATA, commentUserdata(comment));
}

/** A table as the kernel lists it. */
export interface DecodedTable {
  readonly name: string;
  readonly comment?: string;
  readonly dormant?: boolean;
  readonly owner?: boolean;
}

/** Reads NFT_MSG_NEWTABLE. */
export function decodeTable(reader: AttributeReader): DecodedTable {
  let name = '';
  let flags = 0;
  let comment: string | undefined;
  while (reader.next()) {
    if (reader.type === nft.NFTA_TABLE_NAME) name = reader.string();
    else if (reader.type === nft.NFTA_TABLE_FLAGS) flags = reader.u32be();
    else if (reader.type === nft.NFTA_TABLE_USERDATA) comment = userdataComment(reader.copy());
  }
  return {
    name,
    ...(comment === undefined ? {} : { comment }),
    ...((flags & nft.NFT_TABLE_F_DORMANT) === 0 ? {} : { dormant: true }),
    ...((flags & nft.NFT_TABLE_F_OWNER) === 0 ? {} : { owner: true }),
  };
}

/** Appends the attributes of NFT_MSG_NEWCHAIN. */
export function encodeChain(writer: AttributeWriter, table: string, chain: Chain): void {
  writer.addString(nft.NFTA_CHAIN_TABLE, table);
  writer.addString(nft.NFTA_CHAIN_NAME, chain.name);
  if (chain.base !== undefined) {
    const { type, hook, priority, policy } = chain.base;
    writer.addString(nft.NFTA_CHAIN_TYPE, type);
    writer.addU32be(nft.NFTA_CHAIN_POLICY, policy === 'drop' ? NF_DROP : NF_ACCEPT);
    const token = writer.beginNested(nft.NFTA_CHAIN_HOOK, 'hook');
    writer.addU32be(nft.NFTA_HOOK_HOOKNUM, nft.HOOK_NUMBERS[hook]);
    writer.addI32be(nft.NFTA_HOOK_PRIORITY, priority);
    writer.endNested(token);
  }
  if (chain.comment !== undefined) {
    writer.addBytes(nft.NFTA_CHAIN_USERDATA, commentUserdata(chain.comment));
  }
}

/** Reads NFT_MSG_NEWCHAIN. Chains of hooks or types not known here are told apart by a name only. */
export function decodeChain(reader: AttributeReader): { readonly table: string; readonly chain: Chain } {
  let table = '';
  let name = '';
  let type = '';
  let policy = NF_ACCEPT;
  let hook: { number: number; priority: number } | undefined;
  let comment: string | undefined;
  while (reader.next()) {
    if (reader.type === nft.NFTA_CHAIN_TABLE) table = reader.string();
    else if (reader.type === nft.NFTA_CHAIN_NAME) name = reader.string();
    else if (reader.type === nft.NFTA_CHAIN_TYPE) type = reader.string();
    else if (reader.type === nft.NFTA_CHAIN_POLICY) policy = reader.u32be();
    else if (reader.type === nft.NFTA_CHAIN_USERDATA) comment = userdataComment(reader.copy());
    else if (reader.type === nft.NFTA_CHAIN_HOOK) {
      hook = { number: -1, priority: 0 };
      const nested = reader.nested('hook');
      while (nested.next()) {
        if (nested.type === nft.NFTA_HOOK_HOOKNUM) hook.number = nested.u32be();
        else if (nested.type === nft.NFTA_HOOK_PRIORITY) hook.priority = nested.i32be();
      }
    }
  }
  const base = hook && baseChain(type, hook, policy);
  return {
    table,
    chain: {
      kind: 'chain',
      name,
      ...(base === undefined ? {} : { base }),
      ...(comment === undefined ? {} : { comment }),
    },
  };
}

/** Appends the attributes of NFT_MSG_NEWRULE for compiled statements. */
export function encodeRule(writer: AttributeWriter, table: string, rule: Rule, exprs: readonly Expr[]): void {
  writer.addString(nft.NFTA_RULE_TABLE, table);
  writer.addString(nft.NFTA_RULE_CHAIN, rule.chain);
  const list = writer.beginNested(nft.NFTA_RULE_EXPRESSIONS, 'expressions');
  for (const [index, expr] of exprs.entries()) {
    const token = writer.beginNested(nft.NFTA_LIST_ELEM, index);
    encodeExpr(writer, expr);
    writer.endNested(token);
  }
  writer.endNested(list);
  if (rule.comment !== undefined) writer.addBytes(nft.NFTA_RULE_USERDATA, commentUserdata(rule.comment));
}

/** A rule as the kernel lists it; its statements are recognised once the table's sets are known. */
export interface DecodedRule {
  readonly table: string;
  readonly chain: string;
  readonly handle: bigint;
  readonly exprs: readonly Expr[];
  readonly comment?: string;
}

/** Reads NFT_MSG_NEWRULE. */
export function decodeRule(reader: AttributeReader): DecodedRule {
  let table = '';
  let chain = '';
  let handle = 0n;
  const exprs: Expr[] = [];
  let comment: string | undefined;
  while (reader.next()) {
    if (reader.type === nft.NFTA_RULE_TABLE) table = reader.string();
    else if (reader.type === nft.NFTA_RULE_CHAIN) chain = reader.string();
    else if (reader.type === nft.NFTA_RULE_HANDLE) handle = reader.u64be();
    else if (reader.type === nft.NFTA_RULE_USERDATA) comment = userdataComment(reader.copy());
    else if (reader.type === nft.NFTA_RULE_EXPRESSIONS) {
      const list = reader.nested('expressions');
      while (list.next()) exprs.push(decodeExpr(list.nested(`[${exprs.length}]`)));
    }
  }
  return { table, chain, handle, exprs, ...(comment === undefined ? {} : { comment }) };
}

function baseChain(
  type: string,
  hook: { readonly number: number; readonly priority: number },
  policy: number,
): BaseChain {
  const hooks = Object.keys(nft.HOOK_NUMBERS) as BaseChain['hook'][];
  const name = hooks.find((known) => nft.HOOK_NUMBERS[known] === hook.number);
  return {
    // A type or hook that is none of ours is kept as text, so that it is seen to differ.
    type: type as BaseChain['type'],
    hook: name ?? (`hook ${hook.number}` as BaseChain['hook']),
    priority: hook.priority,
    ...(policy === NF_DROP ? { policy: 'drop' as const } : {}),
  };
}
