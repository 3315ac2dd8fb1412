import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EBUSY, EINVAL, ENOENT } from '../../kernel/native/errno.ts';
import { describeTable } from '../../kernel/nftables/describe-table.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { nftFamily } from './family-terms.ts';
import { TABLE } from './names.ts';
import { damages } from './testing/damages.ts';
import { applyChange, randomChange, randomSettings } from './testing/random-changes.ts';
import { committedBy, fakeTable, fullySynced, type TestTable } from './testing/test-table.ts';

/** What happens up to and including one sync, and how long it is to the next. */
const round = fc.record({
  changes: fc.array(randomChange, { maxLength: 4 }),
  waitMs: fc.constantFrom(0, 400, 1000, 5000),
  settle: fc.boolean(),
});
const rounds = fc.array(round, { maxLength: 12 });

const withoutSizes = (text: string) => text.replaceAll(/\t\tsize \d+\n/g, '');

/** The table without chains that another does not have, which wait to be deleted; room in sets does not count. */
function describeWithout(table: TestTable, reference: TestTable): string {
  const wanted = reference.listing().chains;
  const listing = table.listing();
  const chains = new Map([...listing.chains].filter(([name]) => wanted.has(name)));
  return withoutSizes(describeTable({ ...listing, chains }));
}

describe('any sequence of changes by partial syncs makes the table of one full sync', () => {
  test.each([
    ['at any time, unused chains aside', false],
    ['on kernels that count chains as used for a while', true],
  ])(
    '%s',
    async (_, lingers) => {
      await fc.assert(
        fc.asyncProperty(randomSettings, rounds, async (settings, sequence) => {
          const table = fakeTable(new TestCluster(settings));
          table.kernel.lingers = lingers;
          await table.fullSync();
          for (const { changes, waitMs, settle } of sequence) {
            for (const change of changes) applyChange(table.cluster, change);
            const committed = await committedBy(table, async () => {
              const { operations } = await table.partialSync();
              expect(operations).toBeGreaterThanOrEqual(0);
            });
            expect(committed.flatMap(({ operations }) => operations)).not.toContainEqual({
              verb: 'flush',
              object: { kind: 'table' },
            });
            const fresh = await fullySynced(table.cluster);
            expect(describeWithout(table, fresh)).toBe(withoutSizes(fresh.describe()));
            await table.clock.advance(waitMs);
            if (settle) table.kernel.settle();
          }
          table.kernel.settle();
          await table.collectStaleChains();
          // Chains whose deletion was refused a moment ago have another second.
          await table.collectStaleChains();
          const fresh = await fullySynced(table.cluster);
          expect(withoutSizes(table.describe())).toBe(withoutSizes(fresh.describe()));
        }),
        { numRuns: 60 },
      );
    },
    60_000,
  );
});

describe('a full sync repairs whatever went before', () => {
  /** Refusals, answers that get lost after the commit, and listings that fail. */
  const fault = fc.oneof(
    fc.record({
      kind: fc.constant('refused' as const),
      at: fc.integer({ min: 0, max: 40 }),
      errno: fc.constantFrom(EBUSY, EINVAL, ENOENT),
    }),
    fc.record({ kind: fc.constant('answer lost' as const) }),
    fc.record({ kind: fc.constant('listing fails' as const) }),
    fc.record({ kind: fc.constant('none' as const) }),
  );
  const faultyRounds = fc.array(fc.record({ round, fault, full: fc.boolean() }), { maxLength: 10 });

  test('failures of commits and listings', async () => {
    await fc.assert(
      fc.asyncProperty(randomSettings, faultyRounds, async (settings, sequence) => {
        const table = fakeTable(new TestCluster(settings));
        const { kernel } = table;
        const { commit, listNames } = kernel;
        const sync = async (full: boolean) => {
          try {
            if (full) await table.fullSync();
            else await table.partialSync();
            return true;
          } catch {
            return false;
          }
        };
        let full = true;
        for (const one of sequence) {
          for (const change of one.round.changes) applyChange(table.cluster, change);
          const { fault } = one;
          if (fault.kind === 'refused')
            kernel.refuse = (_, index) => (index === fault.at ? fault.errno : undefined);
          if (fault.kind === 'answer lost')
            kernel.commit = (...args) => {
              commit.apply(kernel, args);
              throw new Error('the answer was lost');
            };
          if (fault.kind === 'listing fails')
            kernel.listNames = () => {
              throw new Error('the listing failed');
            };
          full = !(await sync(full || one.full));
          kernel.refuse = undefined;
          kernel.commit = commit;
          kernel.listNames = listNames;
          await table.clock.advance(one.round.waitMs);
        }
        expect(await sync(true)).toBe(true);
        await table.collectStaleChains();
        const fresh = await fullySynced(table.cluster);
        expect(withoutSizes(table.describe())).toBe(withoutSizes(fresh.describe()));
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  test('whatever others made of the table', async () => {
    const damage = fc.constantFrom(...Object.keys(damages));
    await fc.assert(
      fc.asyncProperty(
        randomSettings,
        fc.array(randomChange, { maxLength: 8 }),
        fc.array(damage, { maxLength: 6 }),
        fc.array(randomChange, { maxLength: 3 }),
        async (settings, before, chosen, after) => {
          const table = fakeTable(new TestCluster(settings));
          for (const change of before) applyChange(table.cluster, change);
          await table.fullSync();
          for (const name of chosen) {
            const transaction = new Transaction(nftFamily(table.cluster.settings.family), TABLE);
            damages[name]!(transaction, table.cluster);
            // Some damage cannot be done to a table that has been damaged already.
            try {
              table.kernel.commit(transaction);
            } catch {}
          }
          for (const change of after) applyChange(table.cluster, change);
          await table.fullSync();
          await table.collectStaleChains();
          const fresh = await fullySynced(table.cluster);
          expect(table.describe()).toBe(fresh.describe());
        },
      ),
      { numRuns: 100 },
    );
  }, 120_000);
});
