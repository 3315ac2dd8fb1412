import { expect, test } from 'vitest';
import { chainProperties, ruleText, setProperties } from '../../kernel/nftables/object-text.ts';
import type { ServiceFields } from '../../model/testing/objects.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { nftFamily } from './family-terms.ts';
import { privateObjects } from './private-objects.ts';

const balanced: ServiceFields = {
  type: 'LoadBalancer',
  ports: [{ name: 'p80', nodePort: 3001 }],
  loadBalancerIngress: [
    { ip: '1.2.3.4', ipMode: '' },
    { ip: '5.6.7.8', ipMode: '' },
  ],
  healthCheckNodePort: 30_000,
};
const Local = { externalTrafficPolicy: 'Local' };
const E1 = '5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80';
const E2 = '2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80';
const BASE = 'ULMVA6XW-ns1/svc1/tcp/p80';

/** Sets, chains and rules of ServicePort ns1/svc1:p80, a line each. */
function objectsOf(
  fields: ServiceFields,
  endpoints: readonly string[],
  settings: Partial<PlanSettings> = {},
): string[] | undefined {
  const cluster = new TestCluster(settings)
    .service('ns1/svc1', { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }], ...fields })
    .slice('ns1/svc1', { p80: '80' }, endpoints);
  const [plan] = cluster.plan().servicePorts.values();
  const objects = privateObjects(plan!, cluster.settings);
  if (objects === undefined) return undefined;
  const lines = objects.sets.map((set) => `set ${set.name}: ${setProperties(set).join('; ')}`);
  for (const chain of objects.chains) {
    expect(chainProperties(chain)).toEqual([]);
    lines.push(`chain ${chain.name}`);
    for (const rule of objects.rules)
      if (rule.chain === chain.name) lines.push(`  ${ruleText(rule, nftFamily(cluster.settings.family))}`);
  }
  return lines;
}

test('most ServicePorts have none', () => {
  expect(objectsOf(balanced, ['10.180.0.1'])).toBeUndefined();
  expect(objectsOf({ loadBalancerSourceRanges: ['10.0.0.0/8'] }, ['10.180.0.1'])).toBeUndefined();
  expect(
    objectsOf({ ...balanced, loadBalancerSourceRanges: ['10.0.0.0/8', '0.0.0.0/0'] }, []),
  ).toBeUndefined();
});

const sticky = { sessionAffinity: 'ClientIP' };
const remembering = (endpoint: string, ip: string, timeout = '3h') => ({
  set: `set affinity-${endpoint}: type ipv4_addr; flags dynamic,timeout; timeout ${timeout}`,
  chain: [
    `chain endpoint-${endpoint}`,
    `  update @affinity-${endpoint} { ip saddr timeout 3h }`,
    `  meta l4proto tcp dnat to ${ip}:80`,
  ],
});
const one = remembering(E1, '10.180.0.1');
const two = remembering(E2, '10.180.0.2');
const spread = (prefix: string, ...endpoints: string[]) => [
  `chain ${prefix}-${BASE}`,
  ...endpoints.map((endpoint) => `  ip saddr @affinity-${endpoint} goto endpoint-${endpoint}`),
  `  numgen random mod ${endpoints.length} vmap { ${endpoints.map((endpoint, i) => `${i} : goto endpoint-${endpoint}`).join(', ')} }`,
];

test('affinity: a set and a chain for each endpoint, and a chain that spreads', () => {
  expect(objectsOf(sticky, ['10.180.0.1', '10.180.0.2'])).toEqual([
    one.set,
    two.set,
    ...one.chain,
    ...two.chain,
    ...spread('service', E1, E2),
  ]);
});

test('affinity: the timeout is that of the Service', () => {
  expect(objectsOf({ ...sticky, affinityTimeoutSeconds: 90 }, ['10.180.0.1'])).toContain(
    remembering(E1, '10.180.0.1', '1m30s').set,
  );
});

test('affinity with policy Cluster: all from outside are masqueraded', () => {
  expect(objectsOf({ ...balanced, ...sticky }, ['10.180.0.1'])).toEqual([
    one.set,
    ...one.chain,
    ...spread('service', E1),
    `chain external-${BASE}`,
    '  mark set mark or 0x00004000 comment "masquerade"',
    `  goto service-${BASE}`,
  ]);
});

const externalLocal = [
  `chain external-${BASE}`,
  `  ip saddr 10.0.0.0/8 goto service-${BASE} comment "short-circuit pod traffic"`,
  '  fib saddr type local mark set mark or 0x00004000 comment "masquerade local traffic"',
  `  fib saddr type local goto service-${BASE} comment "short-circuit local traffic"`,
];

test('affinity with policy Local: outside clients go to endpoints of this node', () => {
  expect(objectsOf({ ...balanced, ...sticky, ...Local }, ['10.180.0.1*', '10.180.0.2'])).toEqual([
    one.set,
    two.set,
    ...one.chain,
    ...two.chain,
    ...spread('service', E1, E2),
    ...spread('local', E1),
    ...externalLocal,
    `  goto local-${BASE}`,
  ]);
});

test('affinity with policy Local and no endpoint here: only this node’s own traffic goes anywhere', () => {
  expect(objectsOf({ ...balanced, ...sticky, ...Local }, ['10.180.0.2'])).toEqual([
    two.set,
    ...two.chain,
    ...spread('service', E2),
    ...externalLocal,
  ]);
});

test('affinity with policy Local for ClusterIPs only', () => {
  expect(objectsOf({ ...sticky, internalTrafficPolicy: 'Local' }, ['10.180.0.1*', '10.180.0.2'])).toEqual([
    one.set,
    ...one.chain,
    ...spread('local', E1),
  ]);
});

test('affinity without endpoints needs nothing', () => {
  expect(objectsOf({ ...balanced, ...sticky, ...Local }, [])).toEqual([]);
});

test('affinity, IPv6', () => {
  const name = 'ZVRFLKHO-ns1/svc1/tcp/p80__fd00.10.180..1/80';
  const settings = { family: 'IPv6', localTraffic: { kind: 'none' } } as const;
  const fields = { ...sticky, clusterIP: 'fd00:172:30::41' };
  expect(objectsOf(fields, ['fd00:10:180::1'], settings)).toEqual([
    `set affinity-${name}: type ipv6_addr; flags dynamic,timeout; timeout 3h`,
    `chain endpoint-${name}`,
    `  update @affinity-${name} { ip6 saddr timeout 3h }`,
    '  meta l4proto tcp dnat to [fd00:10:180::1]:80',
    `chain service-${BASE}`,
    `  ip6 saddr @affinity-${name} goto endpoint-${name}`,
    `  numgen random mod 1 vmap { 0 : goto endpoint-${name} }`,
  ]);
});

test.each([
  ['one network', ['203.0.113.0/25'], '192.168.0.2', 'ip saddr != 203.0.113.0/25 drop'],
  [
    'several networks, sorted and merged',
    ['203.0.113.0/25', '198.51.100.0/24', '203.0.113.128/25'],
    '192.168.0.2',
    'ip saddr != { 198.51.100.0/24, 203.0.113.0/24 } drop',
  ],
  [
    'the node is in one of them: the load-balancer addresses too',
    ['192.168.0.0/24', '203.0.113.0/25'],
    '192.168.0.2',
    'ip saddr != { 1.2.3.4, 5.6.7.8, 192.168.0.0/24, 203.0.113.0/25 } drop',
  ],
  [
    'the node is unknown, which loopback stands for',
    ['192.168.0.0/24'],
    '127.0.0.1',
    'ip saddr != 192.168.0.0/24 drop',
  ],
  [
    'networks that add up to everything',
    ['0.0.0.0/1', '128.0.0.0/1'],
    '10.1.1.1',
    'ip saddr != 0.0.0.0/0 drop',
  ],
])('spec A12, source ranges: %s', (_, loadBalancerSourceRanges, nodeIP, rule) => {
  const lines = objectsOf({ ...balanced, loadBalancerSourceRanges }, [], { nodeIP });
  expect(lines).toEqual([`chain firewall-${BASE}`, `  ${rule}`]);
});

test('source ranges and affinity together', () => {
  const fields = { ...balanced, ...sticky, loadBalancerSourceRanges: ['203.0.113.0/25'] };
  expect(objectsOf(fields, ['10.180.0.1'])?.filter((line) => line.startsWith('chain'))).toEqual([
    `chain endpoint-${E1}`,
    `chain service-${BASE}`,
    `chain external-${BASE}`,
    `chain firewall-${BASE}`,
  ]);
});
