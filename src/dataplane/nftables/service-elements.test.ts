import { expect, test } from 'vitest';
import { endpointString } from '../../model/endpoint.ts';
import type { ServiceFields } from '../../model/testing/objects.ts';
import type { ServicePortPlan } from '../../plan/proxy-plan.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { servicePortBase } from './private-names.ts';
import { visitElements } from './service-elements.ts';

/** What a ServicePort needs, one line an element: set, key, and what it holds. */
function elementsOf(plan: ServicePortPlan): string[] {
  const lines: string[] = [];
  const line = (...words: (string | number)[]) =>
    void lines.push(words.filter((word) => word !== '').join(' '));
  visitElements(plan, {
    clusterIP: (ip) => line('cluster-ips', ip),
    hairpin: (ip, protocol, port) => line('hairpin', ip, protocol, port),
    verdict: (map, ip, protocol, port, verdict, comment) =>
      line(
        map,
        ip,
        protocol,
        port,
        ':',
        verdict.replace(servicePortBase(plan.servicePort), '…'),
        `"${comment}"`,
      ),
    endpoint: (map, ip, protocol, port, slot, target) =>
      line(map, ip, protocol, port, slot, ':', endpointString(target)),
  });
  return lines;
}

const local = '10.0.0.1*';
const remote = '10.0.0.2';
const CIP = '172.30.0.41 TCP 80';
const EIP = '192.168.99.11 TCP 80';
const VIP = '1.2.3.4 TCP 80';
const NP = 'TCP 3001';
const name = '"ns1/svc1:p80"';
const balanced: ServiceFields = {
  type: 'LoadBalancer',
  ports: [{ name: 'p80', nodePort: 3001 }],
  loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }],
  externalIPs: ['192.168.99.11'],
  healthCheckNodePort: 30_000,
};
const nodePort: ServiceFields = { type: 'NodePort', ports: [{ name: 'p80', nodePort: 3001 }] };
const Local = { externalTrafficPolicy: 'Local' };
const internalLocal = { internalTrafficPolicy: 'Local' };
const ranges = { loadBalancerSourceRanges: ['10.0.0.0/8'] };
const sticky = { sessionAffinity: 'ClientIP' };

const none = 'goto reject-chain';
const hairpin = 'hairpin 10.0.0.1 TCP 8080';
/** Elements of a frontend's endpoints. */
const slots = (map: string, frontend: string, ...ips: string[]) =>
  ips.map((ip, slot) => `${map} ${frontend} ${slot} : ${ip}:8080`);
const both = ['10.0.0.1', '10.0.0.2'];

test.each<[string, ServiceFields, readonly string[], readonly string[]]>([
  [
    'ClusterIP',
    {},
    [local, remote],
    [hairpin, `service-ips ${CIP} : goto cluster-2 ${name}`, ...slots('cluster-endpoints', CIP, ...both)],
  ],
  ['ClusterIP without endpoints', {}, [], [`no-endpoint-services ${CIP} : ${none} ${name}`]],
  [
    'ClusterIP of policy Local',
    internalLocal,
    [local, remote],
    [hairpin, `service-ips ${CIP} : goto local-1 ${name}`, ...slots('local-endpoints', CIP, '10.0.0.1')],
  ],
  [
    'ClusterIP of policy Local without an endpoint here: dropped, not tried elsewhere',
    internalLocal,
    [remote],
    [`no-endpoint-services ${CIP} : drop ${name}`],
  ],
  [
    'ClusterIP of policy Local without endpoints',
    internalLocal,
    [],
    [`no-endpoint-services ${CIP} : ${none} ${name}`],
  ],
  [
    'NodePort',
    nodePort,
    [remote],
    [
      `service-ips ${CIP} : goto cluster-1 ${name}`,
      ...slots('cluster-endpoints', CIP, '10.0.0.2'),
      `service-nodeports ${NP} : goto nodeport-external-1 ${name}`,
      ...slots('nodeport-cluster-endpoints', NP, '10.0.0.2'),
    ],
  ],
  [
    'NodePort without endpoints',
    nodePort,
    [],
    [`no-endpoint-services ${CIP} : ${none} ${name}`, `no-endpoint-nodeports ${NP} : ${none} ${name}`],
  ],
  [
    'NodePort of external policy Local',
    { ...nodePort, ...Local },
    [local, remote],
    [
      hairpin,
      `service-ips ${CIP} : goto cluster-2 ${name}`,
      ...slots('cluster-endpoints', CIP, ...both),
      `service-nodeports ${NP} : goto nodeport-external-local-2-1 ${name}`,
      ...slots('nodeport-cluster-endpoints', NP, ...both),
      ...slots('nodeport-local-endpoints', NP, '10.0.0.1'),
    ],
  ],
  [
    'external policy Local without an endpoint here: this node’s own traffic is served, all other dropped',
    { ...balanced, ...Local },
    [remote],
    [
      `service-ips ${CIP} : goto cluster-1 ${name}`,
      ...slots('cluster-endpoints', CIP, '10.0.0.2'),
      ...[VIP, EIP].flatMap((frontend) => [
        `service-ips ${frontend} : goto external-local-1-0 ${name}`,
        ...slots('cluster-endpoints', frontend, '10.0.0.2'),
        `no-endpoint-services ${frontend} : drop ${name}`,
      ]),
      `service-nodeports ${NP} : goto nodeport-external-local-1-0 ${name}`,
      ...slots('nodeport-cluster-endpoints', NP, '10.0.0.2'),
      `no-endpoint-nodeports ${NP} : drop ${name}`,
    ],
  ],
  [
    'LoadBalancer with external address',
    balanced,
    [remote],
    [
      `service-ips ${CIP} : goto cluster-1 ${name}`,
      ...slots('cluster-endpoints', CIP, '10.0.0.2'),
      ...[VIP, EIP].flatMap((frontend) => [
        `service-ips ${frontend} : goto external-1 ${name}`,
        ...slots('cluster-endpoints', frontend, '10.0.0.2'),
      ]),
      `service-nodeports ${NP} : goto nodeport-external-1 ${name}`,
      ...slots('nodeport-cluster-endpoints', NP, '10.0.0.2'),
    ],
  ],
  [
    'LoadBalancer without endpoints',
    balanced,
    [],
    [
      ...[CIP, VIP, EIP].map((frontend) => `no-endpoint-services ${frontend} : ${none} ${name}`),
      `no-endpoint-nodeports ${NP} : ${none} ${name}`,
    ],
  ],
  [
    'source ranges apply to load-balancer addresses only, with endpoints and without',
    { ...balanced, ...ranges },
    [],
    [
      `no-endpoint-services ${CIP} : ${none} ${name}`,
      `no-endpoint-services ${VIP} : ${none} ${name}`,
      `firewall-ips ${VIP} : goto firewall-… ${name}`,
      `no-endpoint-services ${EIP} : ${none} ${name}`,
      `no-endpoint-nodeports ${NP} : ${none} ${name}`,
    ],
  ],
  [
    'source ranges without a load-balancer address',
    { ...ranges },
    [remote],
    [`service-ips ${CIP} : goto cluster-1 ${name}`, ...slots('cluster-endpoints', CIP, '10.0.0.2')],
  ],
  [
    'internal policy Local, external policy Cluster',
    { ...nodePort, ...internalLocal },
    [remote],
    [
      `no-endpoint-services ${CIP} : drop ${name}`,
      `service-nodeports ${NP} : goto nodeport-external-1 ${name}`,
      ...slots('nodeport-cluster-endpoints', NP, '10.0.0.2'),
    ],
  ],
  [
    'affinity: chains of its own instead of slots',
    { ...balanced, ...ranges, ...sticky },
    [local, remote],
    [
      hairpin,
      `service-ips ${CIP} : goto service-… ${name}`,
      `service-ips ${VIP} : goto external-… ${name}`,
      `firewall-ips ${VIP} : goto firewall-… ${name}`,
      `service-ips ${EIP} : goto external-… ${name}`,
      `service-nodeports ${NP} : goto external-… ${name}`,
    ],
  ],
  [
    'affinity with policy Local',
    { ...nodePort, ...internalLocal, ...Local, ...sticky },
    [local, remote],
    [
      hairpin,
      `service-ips ${CIP} : goto local-… ${name}`,
      `service-nodeports ${NP} : goto external-… ${name}`,
    ],
  ],
  [
    'affinity with policy Local without an endpoint here',
    { ...nodePort, ...internalLocal, ...Local, ...sticky },
    [remote],
    [
      `no-endpoint-services ${CIP} : drop ${name}`,
      `service-nodeports ${NP} : goto external-… ${name}`,
      `no-endpoint-nodeports ${NP} : drop ${name}`,
    ],
  ],
  [
    'affinity without endpoints',
    { ...nodePort, ...sticky },
    [],
    [`no-endpoint-services ${CIP} : ${none} ${name}`, `no-endpoint-nodeports ${NP} : ${none} ${name}`],
  ],
  [
    'only terminating endpoints, which stand in',
    internalLocal,
    ['10.0.0.1* T', remote],
    [hairpin, `service-ips ${CIP} : goto local-1 ${name}`, ...slots('local-endpoints', CIP, '10.0.0.1')],
  ],
])('spec A9: %s', (_, fields, endpoints, expected) => {
  const cluster = new TestCluster()
    .service('ns1/svc1', { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }], ...fields })
    .slice('ns1/svc1', { p80: '8080' }, endpoints);
  const [plan] = cluster.plan().servicePorts.values();
  expect(elementsOf(plan!)).toEqual(['cluster-ips 172.30.0.41', ...expected]);
});

test('protocols are part of every key, and unnamed ports have the name of their Service', () => {
  const cluster = new TestCluster()
    .service('ns1/svc1', {
      clusterIP: '172.30.0.41',
      ports: [{ port: 53, protocol: 'SCTP', nodePort: 3001 }],
    })
    .slice('ns1/svc1', { '': '5353/SCTP' }, [local]);
  const [plan] = cluster.plan().servicePorts.values();
  expect(elementsOf(plan!)).toEqual([
    'cluster-ips 172.30.0.41',
    'hairpin 10.0.0.1 SCTP 5353',
    'service-ips 172.30.0.41 SCTP 53 : goto cluster-1 "ns1/svc1"',
    'cluster-endpoints 172.30.0.41 SCTP 53 0 : 10.0.0.1:5353',
    'service-nodeports SCTP 3001 : goto nodeport-external-1 "ns1/svc1"',
    'nodeport-cluster-endpoints SCTP 3001 0 : 10.0.0.1:5353',
  ]);
});

test('an address that another Service has gets no element', () => {
  const shared = { ports: [{ name: 'p80' }], externalIPs: ['192.168.99.11'] };
  const cluster = new TestCluster()
    .service('ns1/older', { ...shared, clusterIP: '172.30.0.41', creationTimestamp: 1 })
    .service('ns1/younger', { ...shared, clusterIP: '172.30.0.42', creationTimestamp: 2 });
  const elements = [...cluster.plan().servicePorts.values()].map(elementsOf);
  expect(elements).toEqual([
    [
      'cluster-ips 172.30.0.41',
      `no-endpoint-services ${CIP} : ${none} "ns1/older:p80"`,
      `no-endpoint-services ${EIP} : ${none} "ns1/older:p80"`,
    ],
    ['cluster-ips 172.30.0.42', `no-endpoint-services 172.30.0.42 TCP 80 : ${none} "ns1/younger:p80"`],
  ]);
});
