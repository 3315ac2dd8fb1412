import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { EOPNOTSUPP } from '../native/errno.ts';
import { describeTable } from './describe-table.ts';
import { NftablesConnection } from './nftables-connection.ts';
import { NftablesError } from './nftables-error.ts';
import { metaL4proto, thDport } from './selector/selector.ts';
import {
  chain,
  endpoint,
  endpoints,
  portVerdict,
  prerouting,
  rule,
  table,
  verdict,
  verdicts,
} from './testing/case-objects.ts';
import { FakeNftables } from './testing/fake-nftables.ts';
import { kernelCases } from './testing/kernel-cases.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';
import { Transaction } from './transaction.ts';

const TABLE = 'kube-proxy';
const EMLINK = 31;
const byPort = { kind: 'vmap', key: [metaL4proto, thDport], map: { set: 'verdicts' } } as const;

let namespace: Namespace;
let other: Namespace;
let kernel: NftablesConnection;
let otherKernel: NftablesConnection;
let folder: string;

beforeAll(() => {
  namespace = Namespace.create('fla-nft');
  other = Namespace.create('fla-nft-program');
  kernel = namespace.inside(() => NftablesConnection.open());
  otherKernel = other.inside(() => NftablesConnection.open());
  folder = mkdtempSync(join(tmpdir(), 'fairlead-nft-'));
});

afterAll(() => {
  kernel?.close();
  otherKernel?.close();
  namespace?.delete();
  other?.delete();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  for (const connection of [kernel, otherKernel]) {
    for (const family of ['ip', 'ip6'] as const) {
      connection.commit(new Transaction(family, TABLE).destroy({ kind: 'table' }));
    }
  }
});

/** Loads nft syntax with the nft program. */
function nftLoad(into: Namespace, text: string): void {
  const file = join(folder, 'ruleset.nft');
  writeFileSync(file, text);
  into.run('nft', '-f', file);
}

/** A listing by the nft program, without what differs from run to run: times left and the order of elements. */
function nftList(of: Namespace, family: string): string {
  const text = of.run('nft', 'list', 'table', family, TABLE).replaceAll(/ expires [0-9a-z]+/g, '');
  return text.replaceAll(/elements = \{([^}]*)\}/g, (_, elements: string) => {
    const sorted = elements
      .split(',')
      .map((element) => element.trim())
      .sort();
    return `elements = { ${sorted.join(', ')} }`;
  });
}

describe.each(['ip', 'ip6'] as const)('family %s', (family) => {
  test('what netlink and what nft load from one transaction is listed alike by nft', () => {
    const transaction = sampleRuleset(family);
    kernel.commit(transaction);
    nftLoad(other, transaction.toString());
    expect(nftList(namespace, family)).toBe(nftList(other, family));
  });

  test('negative control: another rule makes the listings differ', () => {
    const transaction = sampleRuleset(family);
    kernel.commit(transaction);
    transaction.add({ kind: 'rule', chain: 'b', statements: [{ kind: 'verdict', verdict: 'drop' }] });
    nftLoad(other, transaction.toString());
    expect(nftList(namespace, family)).not.toBe(nftList(other, family));
    expect(describeTable(kernel.listTable(family, TABLE))).not.toBe(
      describeTable(otherKernel.listTable(family, TABLE)),
    );
  });

  test('listings say what the transaction says, whoever loaded it', () => {
    const transaction = sampleRuleset(family);
    const fake = new FakeNftables();
    fake.commit(transaction);
    const wanted = describeTable(fake.listTable(family, TABLE));
    kernel.commit(transaction);
    nftLoad(other, transaction.toString());
    expect(describeTable(kernel.listTable(family, TABLE))).toBe(wanted);
    expect(describeTable(otherKernel.listTable(family, TABLE))).toBe(wanted);
  });

  test('a description can be loaded by nft and describes the same table again', () => {
    kernel.commit(sampleRuleset(family));
    const description = describeTable(kernel.listTable(family, TABLE));
    nftLoad(other, description);
    expect(describeTable(otherKernel.listTable(family, TABLE))).toBe(description);
  });

  test('what nft lists as text is understood by netlink: no statement of the sample is unknown', () => {
    nftLoad(other, sampleRuleset(family).toString());
    const listing = otherKernel.listTable(family, TABLE);
    const kinds = [...(listing?.chains.values() ?? [])].flatMap(({ rules }) =>
      rules.flatMap((rule) => rule.statements.map((statement) => statement.kind)),
    );
    expect(kinds).toContain('dnat');
    expect(kinds).not.toContain('unknown');
  });
});

describe('the fake kernel does what the kernel does', () => {
  const outcome = (target: Pick<NftablesConnection, 'commit'>, transaction: Transaction) => {
    try {
      target.commit(transaction);
      return 'applied';
    } catch (error) {
      if (!(error instanceof NftablesError) || error.detail.code !== 'NFT_OPERATION_FAILED') throw error;
      return error.detail;
    }
  };

  test.each(kernelCases)('$name', ({ given, when, errno, olderErrno = errno, at }) => {
    const fake = new FakeNftables();
    const first = new Transaction('ip', TABLE);
    given(first);
    kernel.commit(first);
    fake.commit(first);
    const second = new Transaction('ip', TABLE);
    when(second);
    const told = outcome(kernel, second);
    outcome(fake, second);
    if (errno === undefined) expect(told).toBe('applied');
    else {
      expect(told).toMatchObject({ errno: expect.toBeOneOf([errno, olderErrno]) });
      if (at !== undefined) expect(told).toMatchObject({ failed: [{ index: at }] });
    }
    expect(describeTable(kernel.listTable('ip', TABLE))).toBe(describeTable(fake.listTable('ip', TABLE)));
  });

  test('random transactions end alike', () => {
    const steps: Record<string, (transaction: Transaction) => void> = {};
    for (const name of ['a', 'b', 'c']) {
      steps[`add ${name}`] = (tx) => tx.add(chain(name));
      steps[`delete ${name}`] = (tx) => tx.delete(chain(name));
      steps[`flush ${name}`] = (tx) => tx.flush(chain(name));
      steps[`jump to ${name}`] = (tx) => tx.add(rule('prerouting', verdict(`jump ${name}`)));
      steps[`${name} looks up`] = (tx) => tx.add(rule(name, byPort));
      for (const port of [1, 2]) {
        steps[`port ${port} goes to ${name}`] = (tx) => tx.add(portVerdict(port, `goto ${name}`));
      }
    }
    for (const port of [1, 2]) steps[`no port ${port}`] = (tx) => tx.delete(portVerdict(port, 'drop'));
    for (const ip of ['10.0.0.1', '10.0.0.2']) {
      for (const index of [0, 1, 2, 3]) {
        steps[`endpoint ${index} ${ip}`] = (tx) => tx.add(endpoint(index, ip));
        steps[`no endpoint ${index} ${ip}`] = (tx) => tx.delete(endpoint(index, ip));
      }
    }
    steps['no verdict map'] = (tx) => tx.delete(verdicts);
    steps['verdict map'] = (tx) => tx.add(verdicts);
    steps['empty verdict map'] = (tx) => tx.flush(verdicts);
    steps['no rules'] = (tx) => tx.flush(table);
    const names = Object.keys(steps);
    const sequence = fc.array(fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 6 }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(sequence, (transactions) => {
        const fake = new FakeNftables();
        const start = new Transaction('ip', TABLE).destroy(table).add(table).add(prerouting);
        start.add(verdicts).add(endpoints).add(chain('a'));
        kernel.commit(start);
        fake.commit(start);
        for (const chosen of transactions) {
          const transaction = new Transaction('ip', TABLE);
          for (const name of chosen) steps[name]?.(transaction);
          const told = outcome(kernel, transaction);
          const faked = outcome(fake, transaction);
          const summary = (result: typeof told) =>
            typeof result === 'string' ? result : { errno: result.errno, index: result.failed[0]?.index };
          // The kernel refuses loops and misplaced statements as a whole, so its index says nothing.
          if (typeof faked !== 'string' && [EOPNOTSUPP, EMLINK].includes(faked.errno)) {
            expect(told).toMatchObject({ errno: faked.errno });
          } else expect(summary(told)).toEqual(summary(faked));
        }
        expect(describeTable(kernel.listTable('ip', TABLE))).toBe(describeTable(fake.listTable('ip', TABLE)));
      }),
      { numRuns: 100 },
    );
  });
});
