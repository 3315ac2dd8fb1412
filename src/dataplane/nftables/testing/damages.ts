import type { NftSet } from '../../../kernel/nftables/objects.ts';
import { PackedElements } from '../../../kernel/nftables/packed-elements.ts';
import type { Transaction } from '../../../kernel/nftables/transaction.ts';
import type { TestCluster } from '../../testing/test-cluster.ts';
import { nftFamily } from '../family-terms.ts';
import { CHAINS, SETS, TABLE_COMMENT } from '../names.ts';
import { privateObjects } from '../private-objects.ts';

type Damage = (transaction: Transaction, cluster: TestCluster) => void;

const foreignBase = (name: string, hook: 'prerouting' | 'input', priority: number, policy?: 'drop') =>
  ({
    kind: 'chain',
    name,
    base: { type: 'filter', hook, priority, ...(policy === undefined ? {} : { policy }) },
  }) as const;

/** What other programs, older versions and people with `nft` do to the table of a cluster that was synced. */
export const damages: Readonly<Record<string, Damage>> = {
  'the table sleeps': (tx) => tx.add({ kind: 'table', comment: TABLE_COMMENT, dormant: true }),
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
  'affinity sets are declared in an older way': (tx, cluster) =>
    redeclareAffinity(tx, cluster, (set) => {
      const old: NftSet = { ...set, flags: ['timeout'], timeoutMs: 5000 };
      const client = nftFamily(cluster.settings.family) === 'ip' ? '203.0.113.5' : '2001:db8:113::5';
      tx.add(old).add({ kind: 'elements', of: old, rows: PackedElements.for(old).begin().address(client) });
    }),
  'affinity sets have other keys': (tx, cluster) =>
    redeclareAffinity(tx, cluster, (set) => {
      tx.add({ ...set, key: { type: ['mark'] } });
    }),
};

function redeclareAffinity(tx: Transaction, cluster: TestCluster, declare: (set: NftSet) => void): void {
  tx.flush({ kind: 'table' });
  for (const plan of cluster.plan().servicePorts.values()) {
    for (const set of privateObjects(plan, cluster.settings)?.sets ?? []) {
      tx.delete(set);
      declare(set);
    }
  }
}
