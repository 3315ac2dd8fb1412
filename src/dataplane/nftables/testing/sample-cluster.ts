import type { ServiceFields } from '../../../model/testing/objects.ts';
import type { PlanSettings } from '../../../plan/plan-settings.ts';
import { TestCluster } from '../../testing/test-cluster.ts';
import type { NftFamily } from '../family-terms.ts';

const LONG = 'a-name-of-63-characters-which-is-as-long-as-kubernetes-lets-it';

const sampleSettings: Readonly<Record<NftFamily, Partial<PlanSettings>>> = {
  ip: {
    family: 'IPv4',
    nodeIP: '192.168.0.2',
    nodePortAddresses: ['192.168.0.2'],
    localTraffic: { kind: 'cidr', cidr: '10.180.0.0/16' },
    serviceCIDRs: ['172.30.0.0/16', '172.50.0.0/16'],
  },
  ip6: {
    family: 'IPv6',
    nodeIP: '2001:db8::2',
    nodePortAddresses: 'all',
    localTraffic: { kind: 'interfaceNamePrefix', prefix: 'veth' },
    serviceCIDRs: ['fd00:172:30::/112'],
  },
};

/** A cluster in which every kind of object of a table is needed. */
export function sampleCluster(family: NftFamily): TestCluster {
  const v4 = family === 'ip';
  const clusterIP = (n: number) => (v4 ? `172.30.0.${n}` : `fd00:172:30::${n}`);
  const vip = (n: number) => (v4 ? `198.51.100.${n}` : `2001:db8:51::${n}`);
  const pod = (n: number) => (v4 ? `10.180.0.${n}` : `fd00:10:180::${n}`);
  const pods = (...ids: number[]) => ids.map((n) => (n % 2 === 0 ? pod(n) : `${pod(n)}*`));
  const ranges = v4 ? ['192.168.0.0/24', '203.0.113.0/25'] : ['2001:db8::/64', '2001:db8:113::/65'];
  const cluster = new TestCluster(sampleSettings[family]);
  const add = (key: string, n: number, fields: ServiceFields, endpoints: readonly string[]) =>
    cluster
      .service(key, { clusterIP: clusterIP(n), ports: [{ name: 'p80' }], ...fields })
      .slice(key, { p80: '8080', dns: '5353/UDP', sig: '2905/SCTP', '': '80' }, endpoints);
  const balanced = (n: number, nodePort: number, fields: ServiceFields = {}): ServiceFields => ({
    type: 'LoadBalancer',
    ports: [{ name: 'p80', nodePort }],
    loadBalancerIngress: [{ ip: vip(n), ipMode: '' }],
    healthCheckNodePort: 31_000 + n,
    ...fields,
  });
  const Local = { externalTrafficPolicy: 'Local' };

  add('ns1/plain', 1, {}, pods(1));
  add('ns1/nine', 2, {}, pods(1, 2, 3, 4, 5, 6, 7, 8, 9));
  add('ns1/none', 3, {}, []);
  add('ns1/here', 4, { internalTrafficPolicy: 'Local' }, pods(1, 2, 3));
  add('ns1/elsewhere', 5, { internalTrafficPolicy: 'Local' }, pods(2, 4));
  add('ns1/unnamed', 6, { ports: [{ name: '' }] }, pods(2));
  add(
    'ns1/protocols',
    7,
    {
      type: 'NodePort',
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30_053 },
        { name: 'sig', port: 2905, protocol: 'SCTP', nodePort: 32_905 },
      ],
    },
    pods(1, 2, 3),
  );
  add('ns2/cluster', 11, balanced(1, 30_011, { externalIPs: [vip(101)] }), pods(1, 2, 3));
  add('ns2/local', 12, balanced(2, 30_012, { externalIPs: [vip(102)], ...Local }), pods(1, 2, 4));
  add('ns2/far', 13, balanced(3, 30_013, Local), pods(2, 4));
  add('ns2/empty', 14, balanced(4, 30_014, Local), []);
  add('ns2/ranges', 15, balanced(5, 30_015, { loadBalancerSourceRanges: ranges }), pods(1));
  add('ns3/sticky', 21, { sessionAffinity: 'ClientIP', affinityTimeoutSeconds: 90 }, pods(1, 2, 3));
  add(
    'ns3/sticky-local',
    22,
    balanced(6, 30_022, { sessionAffinity: 'ClientIP', loadBalancerSourceRanges: ranges, ...Local }),
    pods(1, 2),
  );
  for (const [index, last] of ['x', 'y'].entries()) {
    add(
      `${LONG}n/${LONG}${last}`,
      31 + index,
      { sessionAffinity: index === 0 ? 'ClientIP' : '' },
      pods(1, 2),
    );
  }
  return cluster;
}
