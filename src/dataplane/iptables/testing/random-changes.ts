import fc from 'fast-check';
import type { TestCluster } from '../../testing/test-cluster.ts';

/** A change of one of a handful of Services, as text that a failing property can print. */
export interface RandomChange {
  readonly service: number;
  readonly what:
    | { readonly kind: 'service'; readonly shape: number; readonly affinity: boolean; readonly local: number }
    | { readonly kind: 'delete service' }
    | { readonly kind: 'slice'; readonly endpoints: readonly number[]; readonly here: number }
    | { readonly kind: 'delete slice' };
}

const endpoints = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 });

export const randomChange: fc.Arbitrary<RandomChange> = fc.record({
  service: fc.integer({ min: 0, max: 5 }),
  what: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('service' as const),
        shape: fc.integer({ min: 0, max: 4 }),
        affinity: fc.boolean(),
        local: fc.integer({ min: 0, max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete service' as const) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('slice' as const),
        endpoints,
        here: fc.integer({ min: 0, max: 7 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete slice' as const) }) },
  ),
});

/** Applies a change. Services share external addresses, so that they take them from each other. */
export function applyChange(cluster: TestCluster, { service, what }: RandomChange): void {
  const key = `ns${service % 2}/svc${service}`;
  switch (what.kind) {
    case 'delete service':
      cluster.deleteService(key);
      break;
    case 'delete slice':
      cluster.deleteSlice(key);
      break;
    case 'slice':
      cluster.slice(
        key,
        { a: '8080', b: '5353/UDP' },
        what.endpoints.map((n) => `10.0.${service}.${n}${(what.here & n) === 0 ? '' : '*'}`),
      );
      break;
    case 'service':
      cluster.service(key, {
        type: ['ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer', 'ClusterIP'][what.shape]!,
        clusterIP: `10.96.0.${service + 1}`,
        ports: [
          { name: 'a', port: 80, nodePort: what.shape === 0 || what.shape === 4 ? 0 : 30_000 + service },
          ...(service % 3 === 0 ? [{ name: 'b', port: 53, protocol: 'UDP' }] : []),
        ],
        loadBalancerIngress: what.shape === 2 || what.shape === 3 ? [{ ip: '198.51.100.1', ipMode: '' }] : [],
        loadBalancerSourceRanges: what.shape === 3 ? ['203.0.113.0/24', '192.168.0.0/24'] : [],
        externalIPs: what.shape === 4 ? [`198.51.100.${2 + (service % 2)}`] : [],
        sessionAffinity: what.affinity ? 'ClientIP' : '',
        externalTrafficPolicy: (what.local & 1) === 0 ? 'Cluster' : 'Local',
        internalTrafficPolicy: (what.local & 2) === 0 ? 'Cluster' : 'Local',
        healthCheckNodePort: 31_000 + service,
        creationTimestamp: service,
      });
  }
}
