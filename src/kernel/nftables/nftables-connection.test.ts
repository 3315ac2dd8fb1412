import { describe, expect, test } from 'vitest';
import { EEXIST, ENOENT, EOPNOTSUPP, EPERM, ERESTART } from '../native/errno.ts';
import { AttributeReader } from '../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import {
  type NetlinkMessage,
  NFNL_MSG_BATCH_BEGIN,
  NFNL_MSG_BATCH_END,
  NLM_F_ACK,
} from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { type FakeAnswer, FakeNetlinkSocket } from '../netlink/testing/fake-netlink-socket.ts';
import { describeTable } from './describe-table.ts';
import { NftablesConnection } from './nftables-connection.ts';
import { isAlreadyExists, isNotFound, NftablesError } from './nftables-error.ts';
import { PackedElements } from './packed-elements.ts';
import { addresses, chain, endpoints, table } from './testing/case-objects.ts';
import { FakeNftables } from './testing/fake-nftables.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';
import { Transaction } from './transaction.ts';

const SUBSYSTEM = 10 << 8;

function connection(answer: (message: NetlinkMessage) => FakeAnswer) {
  const socket = new FakeNetlinkSocket(answer);
  return { socket, nftables: new NftablesConnection(new NetlinkConnection(socket)) };
}

function errorOf(work: () => void): NftablesError {
  try {
    work();
  } catch (error) {
    if (error instanceof NftablesError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('commit', () => {
  const transaction = new Transaction('ip', 'kube-proxy').add(table).add(chain('a')).delete(chain('b'));

  test('returns the size once the end is acknowledged; an empty transaction is not sent', () => {
    const { nftables, socket } = connection(() => undefined);
    expect(nftables.commit(transaction)).toBe(3);
    expect(nftables.commit(new Transaction('ip', 'kube-proxy'))).toBe(0);
    expect(socket.sent).toHaveLength(1);
  });

  test('a refusal names the operation, the errno and what the kernel said', () => {
    const { nftables } = connection(({ type }) =>
      type === SUBSYSTEM + 5 ? { errno: ENOENT, message: 'no such chain', offset: 36 } : undefined,
    );
    const error = errorOf(() => nftables.commit(transaction));
    expect(error.message).toBe(
      'table ip kube-proxy: kernel answered ENOENT: no such chain to: delete chain ip kube-proxy b',
    );
    expect(error.detail).toEqual({
      code: 'NFT_OPERATION_FAILED',
      family: 'ip',
      table: 'kube-proxy',
      errno: ENOENT,
      failed: [
        {
          index: 2,
          text: 'delete chain ip kube-proxy b',
          errno: ENOENT,
          message: 'no such chain',
          offset: 36,
        },
      ],
    });
    expect(isNotFound(error)).toBe(true);
    expect(isAlreadyExists(error)).toBe(false);
  });

  test('several refusals: the first one is the error, all are in the detail, one per operation', () => {
    const { nftables } = connection(({ type }) =>
      type === NFNL_MSG_BATCH_BEGIN ? undefined : { errno: EEXIST },
    );
    const error = errorOf(() => nftables.commit(sampleRuleset('ip')));
    expect(error.message).toMatch(/EEXIST to: add table ip kube-proxy \{.*\(and \d+ more operations\)$/);
    const indexes =
      error.detail.code === 'NFT_OPERATION_FAILED' ? error.detail.failed.map(({ index }) => index) : [];
    expect(indexes).toEqual(sampleRuleset('ip').operations.map((_, i) => i));
  });

  test('of a long element list the rows of the failing message are quoted', () => {
    const rows = PackedElements.for(addresses);
    for (let i = 0; i < 6000; i++) rows.begin().address(`10.0.${i >> 8}.${i & 255}`);
    let messages = 0;
    const { nftables } = connection(({ type }) =>
      type === SUBSYSTEM + 12 && ++messages === 2 ? { errno: EEXIST } : undefined,
    );
    const long = new Transaction('ip', 't').add({ kind: 'elements', of: addresses, rows });
    expect(errorOf(() => nftables.commit(long)).message).toMatch(
      /to: add element ip t addresses \{ 10\.0\.\d+\.\d+, 10\.0\.\d+\.\d+, 10\.0\.\d+\.\d+, … \}$/,
    );
  });

  test.each([
    ['permission', EPERM, 'NFT_PERMISSION_DENIED'],
    ['nf_tables', EOPNOTSUPP, 'NFT_NOT_SUPPORTED'],
    ['the generation', ERESTART, 'NFT_GENERATION_CHANGED'],
  ])('a batch refused as a whole for want of %s', (_, errno, code) => {
    const { nftables } = connection(({ type }) => (type === NFNL_MSG_BATCH_BEGIN ? { errno } : undefined));
    expect(errorOf(() => nftables.commit(transaction, { generation: 5 })).code).toBe(code);
  });

  test('a transaction that does not validate as a whole is refused without an operation', () => {
    const { nftables } = connection(({ type }) =>
      type === NFNL_MSG_BATCH_BEGIN ? { errno: 31 } : undefined,
    );
    const error = errorOf(() => nftables.commit(transaction));
    expect(error.detail).toMatchObject({ code: 'NFT_OPERATION_FAILED', errno: 31, failed: [] });
    expect(error.message).toMatch(/EMLINK to: the batch/);
  });

  test('without an answer the outcome is unknown', () => {
    const { nftables } = connection(({ flags }) => ((flags & NLM_F_ACK) === 0 ? undefined : 'silence'));
    expect(errorOf(() => nftables.commit(transaction)).code).toBe('NFT_OUTCOME_UNKNOWN');
  });

  test('kernels before 6.10 acknowledge no end of a batch', () => {
    const { nftables } = connection(({ type }) => (type === NFNL_MSG_BATCH_END ? 'silence' : undefined));
    expect(nftables.commit(transaction)).toBe(3);
    const elements = { kind: 'elements', of: addresses, rows: PackedElements.for(addresses) } as const;
    expect(nftables.commit(new Transaction('ip', 't'), { generation: 5 })).toBe(0);
    expect(nftables.commit(new Transaction('ip', 't').add(elements))).toBe(0);
  });

  test('sequence numbers go on from one transaction to the next', () => {
    const { nftables, socket } = connection(() => undefined);
    nftables.commit(transaction);
    nftables.commit(transaction);
    const first = socket.sent[0]!.readUInt32LE(8);
    expect(socket.sent[1]!.readUInt32LE(8)).toBe(first + 5);
  });
});

describe('listings', () => {
  /** Answers dumps out of what a transaction would have created. */
  function kernelOf(
    transaction: Transaction,
    generations: () => number,
    hooks: { interrupt?: 'once' | 'always' } = {},
  ) {
    const created = new Map<number, { type: number; body: Buffer }[]>();
    const bytes = transaction.encode().bytes;
    let at = 0;
    while (at < bytes.length) {
      const length = bytes.readUInt32LE(at);
      const type = bytes.readUInt16LE(at + 4);
      const body = Buffer.from(bytes.subarray(at + 16, at + length));
      const list = created.get(type & 0xff) ?? [];
      list.push({ type, body });
      created.set(type & 0xff, list);
      at += length;
    }
    let interrupt = hooks.interrupt !== undefined;
    const messages = (command: number, filter: (body: Buffer) => boolean = () => true) => {
      const found = (created.get(command) ?? []).filter(({ body }) => filter(body));
      return found.map(({ type, body }) => ({
        type,
        body: (writer: AttributeWriter) => {
          const start = writer.reserve(body.length);
          body.copy(writer.bytes, start);
        },
      }));
    };
    return ({ type, payload }: NetlinkMessage): FakeAnswer => {
      const command = type & 0xff;
      if (command === 16) {
        const body = (writer: AttributeWriter) => {
          writer.reserve(4);
          writer.addU32be(1, generations());
        };
        return { messages: [{ type: SUBSYSTEM + 15, body }] };
      }
      if (command === 1) {
        const found = messages(0);
        return found.length === 0 ? { errno: ENOENT } : { messages: found };
      }
      if (command === 13) {
        const name = attribute(payload, 2);
        return { messages: messages(12, (body) => attribute(body, 2) === name) };
      }
      const interrupted = interrupt && (hooks.interrupt === 'always' || command === 7);
      if (interrupted) interrupt = hooks.interrupt === 'always';
      return { messages: messages(command - 1), interrupted };
    };
  }

  function attribute(payload: Buffer, type: number): string | undefined {
    const reader = new AttributeReader(payload, 4, payload.length, 'test');
    while (reader.next()) if (reader.type === type) return reader.string();
    return undefined;
  }

  // Without sets written in place, whose names the kernel makes.
  const transaction = new Transaction('ip', 'kube-proxy')
    .add({ kind: 'table', comment: 'x' })
    .add(chain('a'))
    .add(addresses)
    .add(endpoints)
    .add({ kind: 'rule', chain: 'a', statements: [{ kind: 'verdict', verdict: 'drop' }], comment: 'why' })
    .add({
      kind: 'elements',
      of: addresses,
      rows: PackedElements.for(addresses).begin().address('10.0.0.1'),
    });
  const wanted = () => {
    const fake = new FakeNftables();
    fake.commit(transaction);
    return describeTable(fake.listTable('ip', 'kube-proxy'));
  };

  test('a table is put together from its dumps', () => {
    const { nftables } = connection(kernelOf(transaction, () => 1));
    expect(describeTable(nftables.listTable('ip', 'kube-proxy'))).toBe(wanted());
    expect(nftables.listNames('ip', 'kube-proxy')).toMatchObject({
      dormant: false,
      chains: ['a'],
      baseChains: new Map(),
      sets: [
        { name: 'addresses', kind: 'set' },
        { name: 'endpoints', kind: 'map' },
      ],
    });
    expect(nftables.listElements('ip', 'kube-proxy', addresses)?.count).toBe(1);
  });

  test('objects of other tables in a dump are left out', () => {
    const { nftables } = connection(kernelOf(transaction, () => 1));
    expect(describeTable(nftables.listTable('ip', 'another'))).not.toContain('chain a');
  });

  test('an interrupted dump is read again', () => {
    const { nftables } = connection(kernelOf(transaction, () => 1, { interrupt: 'once' }));
    expect(describeTable(nftables.listTable('ip', 'kube-proxy'))).toBe(wanted());
  });

  test('a change between two dumps makes it start over', () => {
    const generations = [1, 2, 2, 2];
    const { nftables } = connection(kernelOf(transaction, () => generations.shift() ?? 2));
    expect(describeTable(nftables.listTable('ip', 'kube-proxy'))).toBe(wanted());
    expect(generations).toEqual([]);
  });

  test('a ruleset that never rests is an error', () => {
    let generation = 0;
    const { nftables } = connection(kernelOf(transaction, () => ++generation));
    expect(errorOf(() => nftables.listTable('ip', 'kube-proxy')).code).toBe('NFT_DUMP_UNSTABLE');
  });

  test('names are told also of a ruleset that never rests', () => {
    let generation = 0;
    const { nftables } = connection(kernelOf(transaction, () => ++generation, { interrupt: 'always' }));
    expect(nftables.listNames('ip', 'kube-proxy')).toMatchObject({
      chains: ['a'],
      sets: [{ name: 'addresses' }, { name: 'endpoints' }],
    });
    // Three attempts, each with a look at the generation before and after.
    expect(generation).toBe(6);
  });

  test('what does not exist is undefined', () => {
    const none = (message: NetlinkMessage): FakeAnswer =>
      (message.type & 0xff) === 16 ? kernelOf(transaction, () => 1)(message) : { errno: ENOENT };
    const { nftables } = connection(none);
    expect(nftables.listTable('ip', 'kube-proxy')).toBeUndefined();
    expect(nftables.listNames('ip', 'kube-proxy')).toBeUndefined();
    expect(nftables.listElements('ip', 'kube-proxy', addresses)).toBeUndefined();
  });
});
