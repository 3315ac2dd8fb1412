import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EBUSY, EINVAL, ENOENT } from '../../kernel/native/errno.ts';
import { describeTable } from '../../kernel/nftables/describe-table.ts';
import { PackedElements } from '../../kernel/nftables/packed-elements.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { nftFamily } from './family-terms.ts';
import { CHAINS, SETS, TABLE } from './names.ts';
import { endpointBase } from './private-names.ts';
import { applyChange, randomChange, randomSettings } from './testing/random-changes.ts';
import { fullySynced, TestTable } from './testing/test-table.ts';

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
          const table = new TestTable(new TestCluster(settings));
          table.kernel.lingers = lingers;
          await table.fullSync();
          for (const { changes, waitMs, settle } of sequence) {
            for (const change of changes) applyChange(table.cluster, change);
            const committed = await table.committedBy(async () => {
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
        const table = new TestTable(new TestCluster(settings));
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
          const table = new TestTable(new TestCluster(settings));
          for (const change of before) applyChange(table.cluster, change);
          await table.fullSync();
          for (const name of chosen) {
            const transaction = new Transaction(nftFamily(table.cluster.settings.family), TABLE);
            damages[name]!(transaction, table);
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

type Damage = (transaction: Transaction, table: TestTable) => void;

const foreignBase = (name: string, hook: 'prerouting' | 'input', priority: number, policy?: 'drop') =>
  ({
    kind: 'chain',
    name,
    base: { type: 'filter', hook, priority, ...(policy === undefined ? {} : { policy }) },
  }) as const;

/** What other programs, older versions and people with `nft` do. */
const damages: Readonly<Record<string, Damage>> = {
  'the table is gone': (tx) => tx.destroy({ kind: 'table' }),
  'all rules are gone': (tx) => tx.flush({ kind: 'table' }),
  'a chain is empty': (tx) => tx.flush({ kind: 'chain', name: CHAINS.services }),
  'a map is empty': (tx) => tx.flush({ kind: 'map', name: SETS.serviceIPs }),
  'a base chain is gone': (tx) =>
    tx.flush({ kind: 'chain', name: CHAINS.natOutput }).delete({ kind: 'chain', name: CHAINS.natOutput }),
  'a base chain is hooked in elsewhere': (tx) =>
    tx
      .flush({ kind: 'chain', name: CHAINS.filterInput })
      .delete({ kind: 'chain', name: CHAINS.filterInput })
      .add(foreignBase(CHAINS.filterInput, 'input', -110)),
  'a base chain is none': (tx) =>
    tx
      .flush({ kind: 'chain', name: CHAINS.natPrerouting })
      .delete({ kind: 'chain', name: CHAINS.natPrerouting })
      .add({ kind: 'chain', name: CHAINS.natPrerouting }),
  'a chain is a base chain': (tx) =>
    tx
      .flush({ kind: 'table' })
      .delete({ kind: 'chain', name: CHAINS.masquerading })
      .add(foreignBase(CHAINS.masquerading, 'prerouting', 5)),
  'a base chain drops': (tx) => tx.add(foreignBase(CHAINS.filterInput, 'input', 0, 'drop')),
  'chains of others lead to each other': (tx) =>
    tx
      .add(foreignBase('foreign-hook', 'prerouting', 7))
      .add({ kind: 'chain', name: 'foreign-a' })
      .add({ kind: 'chain', name: 'foreign-b' })
      .add({
        kind: 'rule',
        chain: 'foreign-hook',
        statements: [{ kind: 'verdict', verdict: 'jump foreign-a' }],
      })
      .add({ kind: 'rule', chain: 'foreign-a', statements: [{ kind: 'verdict', verdict: 'jump foreign-b' }] })
      .add({ kind: 'rule', chain: 'foreign-b', statements: [{ kind: 'verdict', verdict: 'goto services' }] }),
  'a set of another type has the name of ours': (tx) =>
    tx
      .flush({ kind: 'table' })
      .delete({ kind: 'set', name: SETS.hairpin })
      .add({ kind: 'map', name: SETS.hairpin, key: { type: ['ipv4_addr'] }, data: { type: ['ipv4_addr'] } }),
  'a set of others is used': (tx) =>
    tx
      .add({ kind: 'set', name: 'foreign-set', key: { type: ['mark'] } })
      .add({ kind: 'chain', name: 'foreign-c' })
      .add({
        kind: 'rule',
        chain: 'foreign-c',
        statements: [
          { kind: 'match', left: [{ kind: 'meta', key: 'mark' }], op: '==', right: { set: 'foreign-set' } },
        ],
      }),
  'affinity sets are declared in an older way': (tx, { cluster }) => {
    tx.flush({ kind: 'table' });
    const address = nftFamily(cluster.settings.family) === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
    for (const plan of cluster.plan().servicePorts.values()) {
      if (plan.servicePort.affinityTimeoutSeconds === 0) continue;
      for (const endpoint of plan.allReachable) {
        const set = {
          kind: 'set',
          name: `affinity-${endpointBase(plan.servicePort, endpoint)}`,
          key: { type: [address] },
        } as const;
        const old = { ...set, flags: ['timeout'], timeoutMs: 5000 } as const;
        tx.delete(set).add(old);
        tx.add({
          kind: 'elements',
          of: old,
          rows: PackedElements.for(old).begin().address(clientOf(address)),
        });
      }
    }
  },
};

const clientOf = (address: string) => (address === 'ipv4_addr' ? '203.0.113.5' : '2001:db8:113::5');
