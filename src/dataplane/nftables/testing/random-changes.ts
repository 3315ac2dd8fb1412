import fc from 'fast-check';
import type { PlanSettings } from '../../../plan/plan-settings.ts';
import type { TestCluster } from '../../testing/test-cluster.ts';

/** A change of one of a handful of Services, as plain data that a failing property can print. */
export type RandomChange =
  | ({ readonly kind: 'service'; readonly service: number } & RandomService)
  | {
      readonly kind: 'slice';
      readonly service: number;
      /** Number of the first endpoint; Services share them. */
      readonly first: number;
      readonly count: number;
      /** Every endpoint whose number is divisible by it is on this node; 0 for none. */
      readonly here: number;
      /** Every endpoint whose number is divisible by it is terminating; 0 for none. */
      readonly terminating: number;
    }
  | { readonly kind: 'delete service' | 'delete slice'; readonly service: number };

interface RandomService {
  readonly affinity: 0 | 60 | 10_800;
  readonly externalLocal: boolean;
  readonly internalLocal: boolean;
  readonly nodePort: 0 | 30_000 | 30_001;
  readonly loadBalancers: readonly number[];
  readonly externalIPs: readonly number[];
  /** Source ranges: none, one that leaves the node out, one that has it. */
  readonly ranges: 0 | 1 | 2;
  readonly secondPort: boolean;
}

const service = fc.integer({ min: 0, max: 4 });
/** On both sides of the powers of two, where the treatment changes. */
const count = fc.constantFrom(0, 1, 2, 3, 4, 5, 8, 9, 17);
const divisor = fc.constantFrom(0, 1, 2, 5);

export const randomChange: fc.Arbitrary<RandomChange> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('service' as const),
      service,
      affinity: fc.constantFrom(0 as const, 0 as const, 60 as const, 10_800 as const),
      externalLocal: fc.boolean(),
      internalLocal: fc.boolean(),
      nodePort: fc.constantFrom(0 as const, 30_000 as const, 30_001 as const),
      loadBalancers: fc.subarray([1, 2]),
      externalIPs: fc.subarray([1, 2, 3]),
      ranges: fc.constantFrom(0 as const, 1 as const, 2 as const),
      secondPort: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('slice' as const),
      service,
      first: fc.integer({ min: 1, max: 4 }),
      count,
      here: divisor,
      terminating: fc.constantFrom(0, 0, 0, 1, 3),
    }),
  },
  { arbitrary: fc.record({ kind: fc.constant('delete service' as const), service }), weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant('delete slice' as const), service }), weight: 1 },
);

/** Settings under which the rules differ. */
export const randomSettings: fc.Arbitrary<Partial<PlanSettings>> = fc
  .record({
    family: fc.constantFrom('IPv4' as const, 'IPv6' as const),
    detector: fc.constantFrom('cidr', 'bridgeInterface', 'none'),
    masqueradeAll: fc.boolean(),
    allNodePorts: fc.boolean(),
  })
  .map(({ family, detector, masqueradeAll, allNodePorts }): Partial<PlanSettings> => {
    const v4 = family === 'IPv4';
    return {
      family,
      nodeIP: v4 ? '192.168.0.2' : '2001:db8::2',
      localTraffic:
        detector === 'cidr'
          ? { kind: 'cidr', cidr: v4 ? '10.0.0.0/8' : 'fd00:10::/64' }
          : detector === 'none'
            ? { kind: 'none' }
            : { kind: 'bridgeInterface', name: 'br0' },
      masqueradeAll,
      nodePortAddresses: allNodePorts ? 'all' : [v4 ? '192.168.0.2' : '2001:db8::2'],
      serviceCIDRs: v4 ? ['10.96.0.0/16'] : ['fd00:96::/112'],
    };
  });

/** Applies a change. Services share external addresses, node ports and endpoints, and take them from each other. */
export function applyChange(cluster: TestCluster, change: RandomChange): void {
  const v4 = cluster.settings.family === 'IPv4';
  const key = `ns${change.service % 2}/svc${change.service}`;
  const vip = (n: number) => (v4 ? `198.51.100.${n}` : `2001:db8:51::${n}`);
  switch (change.kind) {
    case 'delete service':
      cluster.deleteService(key);
      break;
    case 'delete slice':
      cluster.deleteSlice(key);
      break;
    case 'slice': {
      const endpoints = Array.from({ length: change.count }, (_, i) => {
        const n = change.first + i;
        const here = change.here > 0 && n % change.here === 0 ? '*' : '';
        const terminating = change.terminating > 0 && n % change.terminating === 0 ? ' T' : '';
        return `${v4 ? `10.0.0.${n}` : `fd00:10::${n}`}${here}${terminating}`;
      });
      cluster.slice(key, { a: '8080', b: '5353/UDP' }, endpoints);
      break;
    }
    case 'service':
      cluster.service(key, {
        type:
          change.loadBalancers.length > 0 ? 'LoadBalancer' : change.nodePort > 0 ? 'NodePort' : 'ClusterIP',
        clusterIP: v4 ? `10.96.0.${change.service + 1}` : `fd00:96::${change.service + 1}`,
        ports: [
          { name: 'a', port: 80, nodePort: change.nodePort },
          ...(change.secondPort ? [{ name: 'b', port: 53, protocol: 'UDP' }] : []),
        ],
        ...(v4 ? {} : { ipFamilies: ['IPv6' as const], clusterIPs: [`fd00:96::${change.service + 1}`] }),
        loadBalancerIngress: change.loadBalancers.map((n) => ({ ip: vip(n), ipMode: '' })),
        externalIPs: change.externalIPs.map((n) => vip(n + 1)),
        loadBalancerSourceRanges: [
          [],
          [v4 ? '203.0.113.0/24' : '2001:db8:113::/64'],
          [v4 ? '203.0.113.0/24' : '2001:db8:113::/64', v4 ? '192.168.0.0/24' : '2001:db8::/64'],
        ][change.ranges]!,
        sessionAffinity: change.affinity > 0 ? 'ClientIP' : '',
        affinityTimeoutSeconds: change.affinity,
        externalTrafficPolicy: change.externalLocal ? 'Local' : 'Cluster',
        internalTrafficPolicy: change.internalLocal ? 'Local' : 'Cluster',
        healthCheckNodePort: 31_000 + change.service,
        creationTimestamp: change.service,
      });
  }
}
