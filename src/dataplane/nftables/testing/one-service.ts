import type { Operation, Transaction } from '../../../kernel/nftables/transaction.ts';
import type { ServiceFields } from '../../../model/testing/objects.ts';
import { TestCluster } from '../../testing/test-cluster.ts';

/** The Service of {@link clusterOf}. */
export const KEY = 'ns1/svc1';
/** Fields of that Service: ClusterIP; with everything else; with affinity. */
export const plain: ServiceFields = { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }] };
export const balanced: ServiceFields = {
  type: 'LoadBalancer',
  clusterIP: '172.30.0.41',
  ports: [{ name: 'p80', nodePort: 3001 }],
  loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }],
  externalIPs: ['192.168.99.11'],
  healthCheckNodePort: 30_000,
};
export const sticky: ServiceFields = { ...plain, sessionAffinity: 'ClientIP' };
/** `10.180.0.10`, `10.180.0.11`, …: addresses in the order in which endpoints are sorted. */
export const pods = (count: number, first = 10) =>
  Array.from({ length: count }, (_, index) => `10.180.0.${first + index}`);

/** A cluster of one Service ns1/svc1 with port p80. */
export function clusterOf(fields: ServiceFields, endpoints: readonly string[]): TestCluster {
  return new TestCluster().service(KEY, fields).slice(KEY, { p80: '80' }, endpoints);
}

/** What a transaction does: `add cluster-endpoints × 2`; elements by their set, rules by what comes before the slash. */
export function summary(transactions: readonly Transaction[]): Record<string, number> {
  const counts: Record<string, number> = {};
  const nameOf = ({ object }: Operation): string => {
    if (object.kind === 'elements') return object.of.name;
    if (object.kind === 'rule') return `rule in ${object.chain.replace(/-[A-Z2-7]{8}-.*/, '-…')}`;
    const name = 'name' in object ? object.name.replace(/-[A-Z2-7]{8}-.*/, '-…') : '';
    return `${object.kind} ${name}`.trim();
  };
  for (const { operations } of transactions) {
    for (const operation of operations) {
      const text = `${operation.verb} ${nameOf(operation)}`;
      const count = operation.object.kind === 'elements' ? operation.object.rows.count : 1;
      counts[text] = (counts[text] ?? 0) + count;
    }
  }
  return counts;
}
