import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { describeTable } from './describe-table.ts';
import { NftablesConnection } from './nftables-connection.ts';
import { FakeNftables } from './testing/fake-nftables.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';
import { Transaction } from './transaction.ts';

const TABLE = 'kube-proxy';

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
