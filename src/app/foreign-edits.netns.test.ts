import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Namespace } from '../../test/netns/namespace.ts';
import { silentLogger } from '../base/logger.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import type { NftSet } from '../kernel/nftables/objects.ts';
import { PackedElements } from '../kernel/nftables/packed-elements.ts';
import { Transaction } from '../kernel/nftables/transaction.ts';
import { type ForeignEdits, watchForeignEdits } from './foreign-edits.ts';

const TABLE = 'kube-proxy';
const set: NftSet = { kind: 'set', name: 'addresses', key: { type: ['ipv4_addr'] } };

let namespace: Namespace;
let own: NftablesConnection;
let other: NftablesConnection;
let edits: ForeignEdits;
let heard: string[];

beforeEach(() => {
  namespace = Namespace.create('flk-edits');
  own = namespace.inside(() => NftablesConnection.open());
  other = namespace.inside(() => NftablesConnection.open());
  heard = [];
  edits = namespace.inside(() =>
    watchForeignEdits({
      own,
      families: ['IPv4'],
      logger: silentLogger,
      onForeignEdit: (_, what) => heard.push(what),
    }),
  );
});

afterEach(() => {
  edits.close();
  own.close();
  other.close();
  namespace.delete();
});

/** Big enough to be committed in quiet; each makes the table anew. */
function bigTransaction(): Transaction {
  const rows = PackedElements.for(set, 30_000);
  for (let i = 0; i < 30_000; i++) rows.begin().address(`10.1.${i >> 8}.${i & 255}`);
  return new Transaction('ip', TABLE)
    .destroy({ kind: 'table' })
    .add({ kind: 'table' })
    .add(set)
    .add({ kind: 'elements', of: set, rows });
}

const changeElsewhere = () => other.commit(new Transaction('ip', 'elsewhere').destroy({ kind: 'table' }));
const changeHere = () =>
  other.commit(new Transaction('ip', TABLE).add({ kind: 'table' }).add({ kind: 'chain', name: 'theirs' }));

/** Has somebody else commit right behind our nth look at the generation. */
function interfere(call: number, work: () => void): void {
  const generation = own.generation.bind(own);
  let calls = 0;
  vi.spyOn(own, 'generation').mockImplementation(() => {
    calls += 1;
    if (call === calls - 1) work();
    const found = generation();
    if (call === calls) work();
    return found;
  });
}

/** Everything that has happened by now has been heard. */
async function settled(): Promise<void> {
  other.commit(
    new Transaction('ip', TABLE)
      .add({ kind: 'table' })
      .add({ kind: 'chain', name: 'last' })
      .delete({ kind: 'chain', name: 'last' }),
  );
  await vi.waitFor(() => expect(heard.at(-1)).toMatch(/ last by /), 20_000);
  heard.pop();
}

test('a big transaction is applied though somebody else was quicker, and changes elsewhere are none of ours', async () => {
  interfere(1, changeElsewhere);
  expect(edits.kernel.commit(bigTransaction())).toBeGreaterThan(30_000);
  expect(other.listNames('ip', TABLE)?.sets).toHaveLength(1);
  await settled();
  expect(heard).toEqual([]);
});

test('big transactions go on while others are active, and our own events neither flood the queue nor count', async () => {
  for (let round = 0; round < 3; round++) {
    changeElsewhere();
    // Let the event arrive.
    await new Promise((resolve) => setTimeout(resolve, 20));
    edits.kernel.commit(bigTransaction());
  }
  await settled();
  expect(heard).toEqual([]);
});

test('a change of our table just before a big transaction is told', async () => {
  edits.kernel.commit(bigTransaction());
  interfere(1, changeHere);
  edits.kernel.commit(bigTransaction());
  await vi.waitFor(
    () => expect(heard).toEqual([expect.stringMatching(/^added or changed chain theirs/)]),
    20_000,
  );
});

test('a change right behind a big transaction in quiet is told, though nobody heard it', () => {
  // The second look is the one behind the commit.
  const generation = own.generation.bind(own);
  let calls = 0;
  vi.spyOn(own, 'generation').mockImplementation(() => {
    if (++calls === 2) changeHere();
    return generation();
  });
  edits.kernel.commit(bigTransaction());
  expect(heard).toContain('changes during a full sync');
});
