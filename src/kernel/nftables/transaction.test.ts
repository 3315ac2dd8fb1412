import { describe, expect, test } from 'vitest';
import {
  NFNL_MSG_BATCH_BEGIN,
  NFNL_MSG_BATCH_END,
  NLM_F_ACK,
  NLM_F_EXCL,
  readMessages,
} from '../netlink/message.ts';
import { numberBatch } from './batch-encoder.ts';
import { PackedElements } from './packed-elements.ts';
import {
  address,
  addresses,
  chain,
  endpoint,
  endpoints,
  portVerdict,
  rule,
  table,
  verdict,
  verdicts,
} from './testing/case-objects.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';
import { Transaction } from './transaction.ts';

const NFT_MSG_NEWSETELEM = 12;

describe('text', () => {
  test('one command per line', () => {
    const transaction = new Transaction('ip', 'kube-proxy')
      .destroy(table)
      .create({ kind: 'table', comment: 'ours' })
      .add({
        kind: 'chain',
        name: 'in',
        base: { type: 'filter', hook: 'input', priority: -110, policy: 'drop' },
      })
      .add({ kind: 'chain', name: 'a', comment: 'helper' })
      .add({ ...addresses, flags: ['timeout', 'dynamic'], timeoutMs: 90_000, comment: 'x' })
      .add(endpoints)
      .add(rule('a', verdict('drop')))
      .add(address('10.0.0.1', '10.0.0.2'))
      .create(portVerdict(80, 'goto a'))
      .delete(endpoint(1, '10.0.0.1'))
      .flush(table)
      .flush(chain('a'))
      .flush(verdicts)
      .delete({ kind: 'rule', chain: 'a', handle: 7n })
      .delete(addresses)
      .destroy(chain('a'));
    expect(transaction.toString().split('\n')).toEqual([
      'add table ip kube-proxy',
      'delete table ip kube-proxy',
      'create table ip kube-proxy { comment "ours" ; }',
      'add chain ip kube-proxy in { type filter hook input priority -110 ; policy drop ; }',
      'add chain ip kube-proxy a { comment "helper" ; }',
      'add set ip kube-proxy addresses { type ipv4_addr ; flags dynamic,timeout ; timeout 1m30s ; comment "x" ; }',
      'add map ip kube-proxy endpoints { typeof meta l4proto . th dport . numgen random mod 2 : ip daddr . th dport ; size 3 ; }',
      'add rule ip kube-proxy a drop',
      'add element ip kube-proxy addresses { 10.0.0.1, 10.0.0.2 }',
      'create element ip kube-proxy verdicts { tcp . 80 : goto a }',
      'delete element ip kube-proxy endpoints { tcp . 80 . 1 }',
      'flush table ip kube-proxy',
      'flush chain ip kube-proxy a',
      'flush map ip kube-proxy verdicts',
      'delete rule ip kube-proxy a handle 7',
      'delete set ip kube-proxy addresses',
      'add chain ip kube-proxy a',
      'delete chain ip kube-proxy a',
      '',
    ]);
    expect(transaction.size).toBe(19 - 1 + 1);
  });

  test('long lists of elements become several commands, empty ones none', () => {
    const rows = PackedElements.for(addresses);
    for (let i = 0; i < 1001; i++) rows.begin().address(`10.0.${i >> 8}.${i & 255}`);
    const elements = { kind: 'elements', of: addresses, rows } as const;
    const lines = new Transaction('ip', 't').add(elements).toString().trimEnd().split('\n');
    expect(lines.map((line) => line.split(',').length)).toEqual([500, 500, 1]);
    const none = { ...elements, rows: PackedElements.for(addresses) };
    expect(new Transaction('ip', 't').add(none).toString()).toBe('');
  });
});

describe('batch', () => {
  const messages = (bytes: Buffer) => [...readMessages(bytes)];

  test('begin, numbered messages of which the last asks for an acknowledgement, and end', () => {
    const batch = sampleRuleset('ip').encode();
    numberBatch(batch, 1000);
    const all = messages(batch.bytes);
    expect(all).toHaveLength(batch.count);
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, i) => 1000 + i));
    expect([all[0]?.type, all.at(-1)?.type]).toEqual([NFNL_MSG_BATCH_BEGIN, NFNL_MSG_BATCH_END]);
    expect(all.filter(({ flags }) => (flags & NLM_F_ACK) !== 0)).toEqual([all.at(-2)]);
    // The subsystem goes into the resource id, in network order.
    expect(all[0]?.payload.toString('hex')).toBe('0000000a');
    expect(all[1]?.payload[0]).toBe(2);
    expect(messages(sampleRuleset('ip6').encode().bytes)[1]?.payload[0]).toBe(10);
  });

  test('every message knows its operation, also where one operation is several messages', () => {
    const transaction = sampleRuleset('ip');
    const { origins, count } = transaction.encode();
    const known = origins.filter((origin) => origin !== undefined);
    expect(known).toHaveLength(count - 2);
    const operations = known.map(({ operation }) => operation);
    expect(operations).toEqual([...operations].sort((a, b) => a - b));
    expect(new Set(operations).size).toBe(transaction.operations.length);
    expect(count).toBeGreaterThan(transaction.operations.length + 2);
  });

  test('rows of a long element list are attributed to their messages', () => {
    const rows = PackedElements.for(addresses);
    for (let i = 0; i < 5000; i++) rows.begin().address('10.0.0.1');
    const batch = new Transaction('ip', 't').add({ kind: 'elements', of: addresses, rows }).encode();
    const ranges = batch.origins.flatMap((origin) =>
      origin === undefined ? [] : [[origin.from, origin.to]],
    );
    expect(ranges.length).toBe(2);
    expect(ranges[0]?.[0]).toBe(0);
    expect(ranges[1]?.[0]).toBe(ranges[0]?.[1]);
    expect(ranges[1]?.[1]).toBe(5000);
  });

  test('create is exclusive, add is not', () => {
    const batch = new Transaction('ip', 't').add(table).create(table).create(address('10.0.0.1')).encode();
    const exclusive = messages(batch.bytes).map(({ flags }) => (flags & NLM_F_EXCL) !== 0);
    expect(exclusive).toEqual([false, false, true, true, false]);
  });

  test('a generation goes into the begin, a dry run has no end', () => {
    const transaction = new Transaction('ip', 't').add(table);
    const [begin] = messages(transaction.encode({ generation: 77 }).bytes);
    expect(begin?.payload.toString('hex')).toBe('0000000a080001000000004d');
    const dry = messages(transaction.encode({ dryRun: true }).bytes);
    expect(dry.map(({ type }) => type)).not.toContain(NFNL_MSG_BATCH_END);
    expect(dry.at(-1)!.flags & NLM_F_ACK).toBe(NLM_F_ACK);
  });

  test('sets written in place get numbers of their own', () => {
    const transaction = sampleRuleset('ip');
    const ids: number[] = [];
    for (const message of messages(transaction.encode().bytes)) {
      if ((message.type & 0xff) !== 9) continue;
      const reader = message.attributes('set');
      while (reader.next()) if (reader.type === 10) ids.push(reader.u32be());
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(10);
  });

  test('what cannot be encoded is named by its place in the transaction', () => {
    const rows = PackedElements.for(verdicts)
      .begin()
      .verdict('goto' as 'drop');
    const transaction = new Transaction('ip', 't').add(table).add({ kind: 'elements', of: verdicts, rows });
    expect(() => transaction.encode()).toThrow(
      'cannot encode operations[1].verdicts.elements[0].data.verdict: "goto" is not a verdict',
    );
    const bad = new Transaction('ip', 't').add(rule('a', { kind: 'dnat', to: { address: 'x' } }));
    expect(() => bad.encode()).toThrow(/dnat: "x" is not an ipv4_addr/);
  });

  test('deleting elements sends them, flushing a set does not', () => {
    const count = (bytes: Buffer) =>
      messages(bytes).map(({ type, payload }) => [type & 0xff, payload.length]);
    const deletion = count(new Transaction('ip', 't').delete(address('10.0.0.1')).encode().bytes)[1];
    const flush = count(new Transaction('ip', 't').flush(addresses).encode().bytes)[1];
    expect(deletion?.[0]).toBe(NFT_MSG_NEWSETELEM + 2);
    expect(flush).toEqual([NFT_MSG_NEWSETELEM + 2, deletion![1]! - 20]);
  });
});
