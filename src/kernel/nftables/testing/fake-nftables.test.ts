import { describe, expect, test } from 'vitest';
import { describeTable } from '../describe-table.ts';
import { isAlreadyExists, isBusy, isNotFound, NftablesError } from '../nftables-error.ts';
import { Transaction } from '../transaction.ts';
import { address, addresses, chain, portVerdict, rule, table, verdict, verdicts } from './case-objects.ts';
import { FakeNftables } from './fake-nftables.ts';
import { kernelCases } from './kernel-cases.ts';
import { sampleRuleset } from './sample-ruleset.ts';

const TABLE = 'cases';

function run(work: () => void): NftablesError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof NftablesError) return error;
    throw error;
  }
}

describe('what the kernel does, the fake does', () => {
  test.each(kernelCases)('$name', ({ given, when, errno, at }) => {
    const fake = new FakeNftables();
    const first = new Transaction('ip', TABLE);
    given(first);
    fake.commit(first);
    const before = fake.dump();
    const second = new Transaction('ip', TABLE);
    when(second);
    const error = run(() => fake.commit(second));
    const detail = error?.detail.code === 'NFT_OPERATION_FAILED' ? error.detail : undefined;
    expect(detail?.errno).toBe(errno);
    if (at !== undefined) expect(detail?.failed[0]?.index).toBe(at);
    if (errno !== undefined) expect(fake.dump()).toBe(before);
    else expect(fake.committed.at(-1)).toBe(second.isEmpty ? first : second);
  });
});

test('errors name the operation and can be told apart', () => {
  const fake = new FakeNftables();
  fake.commit(
    new Transaction('ip', TABLE).add(table).add(chain('a')).add(verdicts).add(portVerdict(80, 'goto a')),
  );
  const busy = run(() => fake.commit(new Transaction('ip', TABLE).delete(chain('a'))));
  expect(busy?.message).toBe(
    'table ip cases: kernel answered EBUSY: chain a is in use to: delete chain ip cases a',
  );
  expect(isBusy(busy)).toBe(true);
  expect(isNotFound(run(() => fake.commit(new Transaction('ip6', TABLE).delete(table))))).toBe(true);
  expect(isAlreadyExists(run(() => fake.commit(new Transaction('ip', TABLE).create(table))))).toBe(true);
});

test('two families and tables do not mix', () => {
  const fake = new FakeNftables();
  fake.commit(sampleRuleset('ip'));
  fake.commit(sampleRuleset('ip6'));
  const six = describeTable(fake.listTable('ip6', 'kube-proxy'));
  fake.commit(new Transaction('ip', 'kube-proxy').delete(table));
  expect(fake.listTable('ip', 'kube-proxy')).toBeUndefined();
  expect(fake.listNames('ip', 'kube-proxy')).toBeUndefined();
  expect(fake.dump()).toBe(six);
});

test('a transaction for another generation is refused, a check changes nothing', () => {
  const fake = new FakeNftables();
  const { generation } = fake.generation();
  const transaction = new Transaction('ip', TABLE).add(table);
  fake.check(transaction);
  expect(fake.dump()).toBe('');
  fake.commit(transaction, { generation });
  expect(run(() => fake.commit(transaction, { generation }))?.code).toBe('NFT_GENERATION_CHANGED');
});

test('a refusal on request leaves the table as it was', () => {
  const fake = new FakeNftables();
  fake.commit(new Transaction('ip', TABLE).add(table).add(addresses));
  fake.refuse = ({ object }) => (object.kind === 'elements' ? 12 : undefined);
  const error = run(() => fake.commit(new Transaction('ip', TABLE).add(chain('x')).add(address('10.0.0.1'))));
  expect(error?.detail).toMatchObject({ code: 'NFT_OPERATION_FAILED', errno: 12, failed: [{ index: 1 }] });
  expect(fake.listNames('ip', TABLE)?.chains).toEqual([]);
});

test('listings are snapshots: later commits do not change them', () => {
  const fake = new FakeNftables();
  fake.commit(
    new Transaction('ip', TABLE).add(table).add(chain('a')).add(addresses).add(address('10.0.0.1')),
  );
  const before = fake.listTable('ip', TABLE);
  const text = describeTable(before);
  fake.commit(new Transaction('ip', TABLE).add(address('10.0.0.2')).add(rule('a', verdict('drop'))));
  expect(describeTable(before)).toBe(text);
  expect(describeTable(fake.listTable('ip', TABLE))).not.toBe(text);
});

test('on request a chain counts as used for a moment after its element has gone, as before Linux 6.2', () => {
  const fake = new FakeNftables();
  fake.lingers = true;
  const start = new Transaction('ip', TABLE).add(table).add(chain('a')).add(verdicts);
  fake.commit(start.add(portVerdict(80, 'goto a')));
  const both = new Transaction('ip', TABLE).delete(portVerdict(80, 'goto a')).delete(chain('a'));
  expect(isBusy(run(() => fake.commit(both)))).toBe(true);
  fake.commit(new Transaction('ip', TABLE).delete(portVerdict(80, 'goto a')));
  const gone = new Transaction('ip', TABLE).delete(chain('a'));
  expect(isBusy(run(() => fake.commit(gone)))).toBe(true);
  fake.settle();
  expect(run(() => fake.commit(gone))).toBeUndefined();
});

test('elements are listed on request only', () => {
  const fake = new FakeNftables();
  fake.commit(sampleRuleset('ip'));
  const some = fake.listTable('ip', 'kube-proxy', { elements: (set) => set.name === 'cluster-ips' });
  expect(some?.sets.get('cluster-ips')?.rows?.count).toBe(20);
  expect(some?.sets.get('endpoints')?.rows).toBeUndefined();
  const { set } = some!.sets.get('endpoints')!;
  expect(fake.listElements('ip', 'kube-proxy', set)?.count).toBe(3);
});
