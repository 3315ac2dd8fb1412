import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { endpoint, slice } from '../../model/testing/objects.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { chainLine } from './restore-input.ts';
import { FakeIptables } from './testing/fake-iptables.ts';
import { allCounters, synced, testProxier } from './testing/synced.ts';

const golden = (name: string) => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8');

/** The input of a full sync on a host whose base chains have the jumps already. */
async function fullInputOf(
  cluster: TestCluster,
  dependencies: Parameters<typeof testProxier>[1] = {},
  options: Parameters<typeof testProxier>[0] = {},
): Promise<string> {
  const { proxier, iptables } = testProxier(options, {
    iptables: new FakeIptables(cluster.settings.family),
    ...dependencies,
  });
  const plan = cluster.plan();
  await proxier.sync(plan, undefined);
  await proxier.sync(plan, undefined);
  proxier.close();
  return iptables.inputs.at(-1)!;
}

function workedExample(): TestCluster {
  return new TestCluster({
    nodeIP: '10.1.2.3',
    localTraffic: { kind: 'cidr', cidr: '10.244.0.0/16' },
    localhostNodePorts: true,
  })
    .service('dns/cache', {
      clusterIP: '10.96.0.11',
      internalTrafficPolicy: 'Local',
      ports: [{ name: 'q', protocol: 'UDP', port: 53 }],
    })
    .slice('dns/cache', { q: '5353/UDP' }, ['10.244.3.4'])
    .service('dns/resolver', { clusterIP: '10.96.0.10', ports: [{ protocol: 'UDP', port: 53 }] })
    .service('web/shop', {
      type: 'LoadBalancer',
      clusterIP: '10.96.7.7',
      externalTrafficPolicy: 'Local',
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
      loadBalancerIngress: [{ ip: '198.51.100.7', ipMode: '' }],
      externalIPs: ['198.51.100.9'],
      loadBalancerSourceRanges: ['192.0.2.0/24', '10.1.0.0/16'],
      healthCheckNodePort: 32100,
      sessionAffinity: 'ClientIP',
      affinityTimeoutSeconds: 600,
    })
    .slice('web/shop', { http: '8080' }, ['10.244.1.5*', '10.244.1.50', '10.244.2.9']);
}

test('the worked example, word for word', async () => {
  expect(await fullInputOf(workedExample())).toBe(golden('worked-example.txt'));
});

test('IPv6: addresses, brackets, no loopback chain', async () => {
  const cluster = new TestCluster({
    family: 'IPv6',
    nodeIP: '2001:db8::1',
    localTraffic: { kind: 'cidr', cidr: 'fd00:244::/32' },
    localhostNodePorts: true,
  })
    .service('web/shop', {
      type: 'NodePort',
      clusterIP: 'fd00:96::7',
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    })
    .slice('web/shop', { http: '8080' }, ['fd00:244:1::5']);
  const input = await fullInputOf(cluster);
  const nat = input.slice(input.indexOf('*nat'));
  const rules = nat.split('\n').filter((line) => line.startsWith('-A'));
  expect(rules.slice(4).join('\n')).toBe(golden('ipv6-nat-rules.txt').trimEnd());
  expect(input).not.toContain('KUBE-FIREWALL');
});

test('addresses that are stored in an odd form give the rules of the plain form', async () => {
  const cluster = new TestCluster()
    .service('ns1/svc1', {
      type: 'LoadBalancer',
      clusterIP: '172.30.0.041',
      externalIPs: ['192.168.099.022'],
      loadBalancerIngress: [{ ip: '1.2.3.004', ipMode: '' }],
      loadBalancerSourceRanges: ['203.0.113.000/025'],
      ports: [{ name: 'p80', port: 80 }],
    })
    .rawSlice(
      slice({
        namespace: 'ns1',
        serviceName: 'svc1',
        ports: [{ name: 'p80', port: 80, protocol: 'TCP' }],
        endpoints: [endpoint('10.180.00.001')],
      }),
    );
  const input = await fullInputOf(cluster);
  for (const text of [
    '-d 172.30.0.41 ',
    '-d 1.2.3.4 ',
    '-d 192.168.99.22 ',
    '-s 203.0.113.0/25 ',
    'DNAT --to-destination 10.180.0.1:80',
    ':KUBE-SEP-SXIVWICOYRO3J4NJ ',
  ])
    expect(input).toContain(text);
});

test.each([
  ['Proxy', false],
  ['VIP', true],
  ['', true],
])('ingress with ipMode "%s" is served: %s', async (ipMode, served) => {
  const cluster = new TestCluster()
    .service('ns1/svc1', { type: 'LoadBalancer', loadBalancerIngress: [{ ip: '1.2.3.4', ipMode }] })
    .slice('ns1/svc1', { '': '80' }, ['10.0.0.1']);
  const tables = await synced(cluster);
  expect(tables.rules('nat', 'KUBE-SERVICES')!.some((rule) => rule.includes('-d 1.2.3.4 '))).toBe(served);
});

test('invalid packets: dropped, counted where there is a counter, spared where tracking is liberal', async () => {
  const rules = async (
    dependencies: Parameters<typeof testProxier>[1],
    options: Parameters<typeof testProxier>[0] = {},
  ) => (await synced(new TestCluster(), dependencies, options)).rules('filter', 'KUBE-FORWARD')!;
  expect((await rules({}))[0]).toBe('-m conntrack --ctstate INVALID -j DROP');
  expect((await rules({ ensureCounters: allCounters }))[0]).toBe(
    '-m conntrack --ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP',
  );
  expect(await rules({ ensureCounters: allCounters }, { conntrackTcpBeLiberal: () => true })).toHaveLength(2);
});

test.each([true, false])('masquerading with random ports where the program can: %s', async (randomFully) => {
  const iptables = new FakeIptables();
  iptables.features.randomFully = randomFully;
  const rules = (await synced(new TestCluster(), { iptables })).rules('nat', 'KUBE-POSTROUTING')!;
  expect(rules[2]!.endsWith('MASQUERADE --random-fully')).toBe(randomFully);
});

test('every jump leads to a chain that is declared and filled, every chain of a ServicePort is led to', async () => {
  const input = await fullInputOf(workedExample(), { ensureCounters: allCounters });
  for (const table of input.split(/^COMMIT\n/m).filter((text) => text !== '')) {
    const declared = new Set([...table.matchAll(/^:(\S+)/gm)].map((match) => match[1]!));
    const filled = new Set([...table.matchAll(/^-A (\S+)/gm)].map((match) => match[1]!));
    const targets = new Set([...table.matchAll(/-j (KUBE-\S+)/gm)].map((match) => match[1]!));
    for (const target of targets) {
      expect(declared).toContain(target);
      if (target !== 'KUBE-NODEPORTS') expect(filled).toContain(target);
    }
    for (const chain of declared)
      if (/^KUBE-(SVC|SVL|EXT|FW|SEP)-/.test(chain)) expect(targets).toContain(chain);
  }
});

test('IPs of an address that another Service owns are not rendered twice', async () => {
  const cluster = new TestCluster()
    .service('a/first', { clusterIP: '10.96.0.1', externalIPs: ['192.0.2.9'], creationTimestamp: 1 })
    .slice('a/first', { '': '80' }, ['10.0.0.1'])
    .service('b/second', { clusterIP: '10.96.0.2', externalIPs: ['192.0.2.9'], creationTimestamp: 2 })
    .slice('b/second', { '': '80' }, ['10.0.0.2']);
  const tables = await synced(cluster);
  const rules = tables.rules('nat', 'KUBE-SERVICES')!.filter((rule) => rule.includes('192.0.2.9'));
  expect(rules).toHaveLength(1);
  expect(rules[0]).toContain('a/first');
});

test('a chain line flushes', () => {
  expect(chainLine('KUBE-X')).toBe(':KUBE-X - [0:0]\n');
});

describe('rules in numbers', () => {
  const sizes = [
    [0, 0],
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 10],
    [10, 0],
    [10, 1],
    [10, 2],
    [10, 10],
  ] as const;
  const expected = {
    ClusterIP: ['4/5', '5/5', '4/10', '4/13', '4/37', '14/5', '4/55', '4/85', '4/325'],
    LoadBalancer: ['4/5', '8/5', '5/18', '5/21', '5/45', '44/5', '14/135', '14/165', '14/405'],
  };
  test.each(
    (['ClusterIP', 'LoadBalancer'] as const).flatMap((type) =>
      sizes.map(([services, endpoints], index) => ({
        type,
        services,
        endpoints,
        count: expected[type][index]!,
      })),
    ),
  )('$services x $type with $endpoints endpoints: $count', async ({ type, services, endpoints, count }) => {
    const cluster = new TestCluster({ localhostNodePorts: true });
    for (let i = 0; i < services; i++) {
      const balanced = type === 'LoadBalancer';
      cluster.service(`ns/svc${i}`, {
        type,
        clusterIP: `10.96.0.${i + 1}`,
        externalIPs: balanced ? [`192.168.99.${i + 1}`] : [],
        loadBalancerIngress: balanced ? [{ ip: `1.2.3.${i + 1}`, ipMode: '' }] : [],
        loadBalancerSourceRanges: balanced ? ['203.0.113.0/25'] : [],
        ports: [{ nodePort: balanced ? 30_000 + i : 0 }],
      });
      const addresses = Array.from({ length: endpoints }, (_, n) => `10.0.${i}.${n + 1}`);
      cluster.slice(`ns/svc${i}`, { '': '80' }, addresses);
    }
    const { proxier, iptables } = testProxier({}, { ensureCounters: allCounters });
    const { rules } = await proxier.sync(cluster.plan(), undefined);
    proxier.close();
    expect(`${rules.filter.total}/${rules.nat.total}`).toBe(count);
    expect(rules.nat.last).toBe(rules.nat.total);
    const written = iptables.inputs.at(-1)!;
    expect(written.match(/^-A/gm)!.length).toBe(rules.filter.total + rules.nat.total);
  });
});
