import { describe, expect, test } from 'vitest';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import type { FakeIptables } from './testing/fake-iptables.ts';
import { type Packet, tracePacket } from './testing/packet-tracer.ts';
import { allCounters, synced } from './testing/synced.ts';

const POD = '10.0.0.2';
const POD2 = '10.180.0.2';
const NODE = '192.168.0.2';
const LO = '127.0.0.1';
const EXT = '203.0.113.2';
/** Outside of the allowed source ranges. */
const EXTB = '203.0.113.130';
const POD6 = 'fd00:10::2';
const NODE6 = '2001:db8::1';
const LO6 = '::1';
const EXT6 = '2600:5200::1';

const localAddresses = new Set([LO, LO6, NODE, '192.168.1.2', '192.168.99.11', NODE6, '2001:db8:1::2']);

/** `from -> to:port[/protocol]`, what comes of it, and whether it is masqueraded. */
type Flow = readonly [flow: string, outcome: string, masqueraded?: 'masqueraded'];

function packetOf(flow: string): Packet {
  const match = /^(\S+) -> \[?([^\s\]]+?)\]?:(\d+)(?:\/(\w+))?$/.exec(flow)!;
  const [, from, to, port, protocol = 'tcp'] = match;
  return { from: from!, to: to!, port: Number(port), protocol: protocol as Packet['protocol'] };
}

function expectFlows(tables: FakeIptables, flows: readonly Flow[]): void {
  const found = flows.map(([flow]) => {
    const result = tracePacket((table, chain) => tables.rules(table, chain), packetOf(flow), localAddresses);
    return `${flow} = ${result.outcome}${result.masqueraded ? ' M' : ''}`;
  });
  expect(found).toEqual(
    flows.map(
      ([flow, outcome, masqueraded]) => `${flow} = ${outcome}${masqueraded === undefined ? '' : ' M'}`,
    ),
  );
}

const M = 'masqueraded';

function scenario(fields: Partial<PlanSettings> = {}): TestCluster {
  return new TestCluster({ nodeName: 'test-node', nodeIP: NODE, localhostNodePorts: true, ...fields });
}

const program = (cluster: TestCluster) => synced(cluster, { ensureCounters: allCounters });

const balanced = (ports: { name?: string; nodePort?: number }, vips: readonly string[], extra = {}) => ({
  type: 'LoadBalancer',
  ports: [{ port: 80, ...ports }],
  loadBalancerIngress: vips.map((ip) => ({ ip, ipMode: '' })),
  ...extra,
});

test('A: one of each kind', async () => {
  const cluster = scenario()
    .service('ns1/svc1', { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }] })
    .slice('ns1/svc1', { p80: '80' }, ['10.180.0.1'])
    .service('ns2/svc2', {
      ...balanced({ name: 'p80', nodePort: 3001 }, ['1.2.3.4']),
      clusterIP: '172.30.0.42',
      externalIPs: ['192.168.99.22'],
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 30_000,
    })
    .slice('ns2/svc2', { p80: '80' }, ['10.180.0.2'])
    .service('ns3/svc3', {
      type: 'NodePort',
      clusterIP: '172.30.0.43',
      ports: [{ name: 'p80', nodePort: 3003 }],
    })
    .slice('ns3/svc3', { p80: '80' }, ['10.180.0.3'])
    .service('ns4/svc4', {
      clusterIP: '172.30.0.44',
      externalIPs: ['192.168.99.33'],
      ports: [{ name: 'p80' }],
    })
    .slice('ns4/svc4', { p80: '80' }, ['10.180.0.4', '10.180.0.5*'])
    .service('ns5/svc5', {
      ...balanced({ name: 'p80', nodePort: 3002 }, ['5.6.7.8']),
      clusterIP: '172.30.0.45',
      loadBalancerSourceRanges: [' 203.0.113.0/25'],
      sessionAffinity: 'ClientIP',
      affinityTimeoutSeconds: 10_800,
      healthCheckNodePort: 30_000,
    })
    .slice('ns5/svc5', { p80: '80' }, ['10.180.0.3'])
    .service('ns6/svc6', { clusterIP: '172.30.0.46', ports: [{ name: 'p80' }] });
  const tables = await program(cluster);
  const written = tables.inputs.at(-1)!.split('*nat');
  expect(written[0]!.match(/^-A/gm)).toHaveLength(10);
  expect(written[1]!.match(/^-A/gm)).toHaveLength(55);
  expectFlows(tables, [
    [`${POD} -> 10.0.0.3:80`, '(none)'],
    [`${POD} -> 172.30.0.41:80`, '10.180.0.1:80'],
    [`${POD} -> 172.30.0.44:80`, '10.180.0.4:80, 10.180.0.5:80'],
    [`${NODE} -> 192.168.99.22:80`, '10.180.0.2:80', M],
    [`${EXT} -> 192.168.99.22:80`, 'DROP'],
    [`${NODE} -> 192.168.0.2:30000`, 'ACCEPT'],
    [`${POD} -> 172.30.0.46:80`, 'REJECT'],
  ]);
});

test('B: a load balancer without endpoints refuses everywhere', async () => {
  const cluster = scenario().service('ns1/svc1', {
    ...balanced({ name: 'p80', nodePort: 3001 }, ['1.2.3.4']),
    clusterIP: '172.30.0.41',
    externalIPs: ['192.168.99.11'],
  });
  expectFlows(
    await program(cluster),
    [
      `${POD} -> 172.30.0.41:80`,
      `${POD} -> 192.168.0.2:3001`,
      `${POD} -> 1.2.3.4:80`,
      `${EXT} -> 192.168.99.11:80`,
      `${EXT} -> 192.168.0.2:3001`,
      `${EXT} -> 1.2.3.4:80`,
    ].map((flow) => [flow, 'REJECT']),
  );
});

test('C: ports and protocols', async () => {
  const ports = [
    { name: 'http', port: 80 },
    { name: 'https', port: 443 },
    { name: 'dns-udp', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53 },
    { name: 'dns-sctp', port: 53, protocol: 'SCTP' },
  ];
  const cluster = scenario()
    .service('ns1/svc1', { clusterIP: '172.30.0.41', ports: [{ name: 'http' }] })
    .slice('ns1/svc1', { http: '80' }, ['10.180.0.1'])
    .service('ns2/svc2', { clusterIP: '172.30.0.42', ports })
    .slice(
      'ns2/svc2',
      { http: '80', https: '8443', 'dns-udp': '53/UDP', 'dns-tcp': '5353', 'dns-sctp': '53/SCTP' },
      ['10.180.0.1*', '10.180.2.1'],
    );
  const both = (port: number) => `10.180.0.1:${port}, 10.180.2.1:${port}`;
  expectFlows(await program(cluster), [
    [`${POD2} -> 172.30.0.41:80`, '10.180.0.1:80'],
    ['10.180.0.1 -> 172.30.0.41:80', '10.180.0.1:80', M],
    [`${POD2} -> 172.30.0.42:80`, both(80)],
    [`${POD2} -> 172.30.0.42:443`, both(8443)],
    [`${POD2} -> 172.30.0.42:53`, both(5353)],
    [`${POD2} -> 172.30.0.42:53/udp`, both(53)],
    [`${POD2} -> 172.30.0.42:53/sctp`, both(53)],
    [`${POD2} -> 172.30.0.42:80/udp`, '(none)'],
    [`${POD2} -> 172.30.0.41:443`, '(none)'],
  ]);
});

test('D: source ranges', async () => {
  const cluster = scenario()
    .service('ns1/svc1', {
      ...balanced({ name: 'p80', nodePort: 3001 }, ['1.2.3.4', '5.6.7.8']),
      clusterIP: '172.30.0.41',
      loadBalancerSourceRanges: ['192.168.0.0/24', ' 203.0.113.0/25'],
    })
    .slice('ns1/svc1', { p80: '80' }, ['10.180.0.1']);
  const allowed = [
    `${EXT} -> 192.168.0.2:3001`,
    `${EXT} -> 1.2.3.4:80`,
    `${EXT} -> 5.6.7.8:80`,
    `${EXTB} -> 192.168.0.2:3001`,
    `${NODE} -> 1.2.3.4:80`,
    `${NODE} -> 5.6.7.8:80`,
    '1.2.3.4 -> 1.2.3.4:80',
    '5.6.7.8 -> 5.6.7.8:80',
  ];
  const refused = [
    `${EXTB} -> 1.2.3.4:80`,
    `${EXTB} -> 5.6.7.8:80`,
    `${POD} -> 1.2.3.4:80`,
    `${POD} -> 5.6.7.8:80`,
  ];
  expectFlows(await program(cluster), [
    [`${POD} -> 172.30.0.41:80`, '10.180.0.1:80'],
    ...allowed.map((flow): Flow => [flow, '10.180.0.1:80', M]),
    ...refused.map((flow): Flow => [flow, 'DROP']),
  ]);
});

test('source ranges do not bind an address that is external as well', async () => {
  const fields = {
    ...balanced({ name: 'p80' }, ['1.2.3.4', '5.6.7.8']),
    clusterIP: '172.30.0.41',
    loadBalancerSourceRanges: ['203.0.113.0/25'],
    externalIPs: ['1.2.3.4'],
  };
  const cluster = scenario().service('ns1/svc1', fields).slice('ns1/svc1', { p80: '80' }, ['10.180.0.1']);
  expectFlows(await program(cluster), [
    [`${EXT} -> 1.2.3.4:80`, '10.180.0.1:80', M],
    [`${EXTB} -> 1.2.3.4:80`, '10.180.0.1:80', M],
    [`${EXTB} -> 5.6.7.8:80`, 'DROP'],
  ]);
  cluster.change({ allowExternalIPs: false });
  expectFlows(await program(cluster), [[`${EXTB} -> 1.2.3.4:80`, 'DROP']]);
});

describe('E: node ports by address and loopback setting', () => {
  const v4 = {
    clusterIP: '172.30.0.41',
    addresses: ['10.180.0.1', '10.180.2.1*'],
    both: '10.180.0.1:80, 10.180.2.1:80',
    pod: POD,
    ext: EXT,
    node: NODE,
    second: '192.168.1.2',
    lo: LO,
    settings: {},
  };
  const v6 = {
    clusterIP: 'fd00:172:30::41',
    addresses: ['fd00:10:180::1', 'fd00:10:180::2:1*'],
    both: '[fd00:10:180::1]:80, [fd00:10:180::2:1]:80',
    pod: POD6,
    ext: EXT6,
    node: NODE6,
    second: '2001:db8:1::2',
    lo: LO6,
    settings: {
      family: 'IPv6',
      nodeIP: NODE6,
      localTraffic: { kind: 'cidr', cidr: 'fd00:10::/64' },
    } satisfies Partial<PlanSettings>,
  };
  test.each([
    ['E1', v4, { localhostNodePorts: true }, { loopback: true, second: true }],
    ['E2', v4, { localhostNodePorts: false }, { loopback: false, second: true }],
    [
      'E3',
      v4,
      { localhostNodePorts: false, nodePortAddresses: [LO, NODE] },
      { loopback: false, second: false },
    ],
    [
      'E4',
      v4,
      { localhostNodePorts: false, nodePortAddresses: [NODE, '192.168.1.2'] },
      { loopback: false, second: true },
    ],
    ['E5', v6, { localhostNodePorts: true }, { loopback: false, second: true }],
    ['E6', v6, { localhostNodePorts: false }, { loopback: false, second: true }],
    ['E7', v6, { localhostNodePorts: false, nodePortAddresses: [NODE6] }, { loopback: false, second: false }],
  ] as const)('%s', async (_, family, fields, answers) => {
    const { clusterIP, both, pod, ext, node, second, lo } = family;
    const cluster = scenario({ ...family.settings, ...fields })
      .service('ns1/svc1', {
        type: 'NodePort',
        clusterIP,
        ports: [{ name: 'p80', port: 80, nodePort: 3001 }],
      })
      .slice('ns1/svc1', { p80: '80' }, family.addresses);
    const tables = await program(cluster);
    expectFlows(tables, [
      [`${pod} -> [${clusterIP}]:80`, both],
      [`${ext} -> [${node}]:3001`, both, M],
      [`${node} -> [${node}]:3001`, both, M],
      answers.loopback ? [`${lo} -> [${lo}]:3001`, both, M] : [`${lo} -> [${lo}]:3001`, '(none)'],
      answers.second ? [`${ext} -> [${second}]:3001`, both, M] : [`${ext} -> [${second}]:3001`, '(none)'],
    ]);
    expect(tables.rules('filter', 'KUBE-FIREWALL')).toHaveLength(answers.loopback ? 1 : 0);
  });
});

test('F: the health check port is open whatever the addresses, as long as the Service exists', async () => {
  const cluster = scenario({ nodePortAddresses: [LO] }).service('ns1/svc1', {
    ...balanced({ name: 'p80', nodePort: 3001 }, []),
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30_000,
  });
  expectFlows(await program(cluster), [['1.2.3.4 -> 192.168.0.2:30000', 'ACCEPT']]);
  cluster.deleteService('ns1/svc1');
  expectFlows(await program(cluster), [['1.2.3.4 -> 192.168.0.2:30000', '(none)']]);
});

describe('G, H: external policy', () => {
  const both = '10.180.0.1:80, 10.180.2.1:80';
  const cluster = (externalTrafficPolicy: string) =>
    scenario()
      .service('ns1/svc1', {
        ...balanced({ name: 'p80', nodePort: 3001 }, ['1.2.3.4']),
        clusterIP: '172.30.0.41',
        externalIPs: ['192.168.99.11'],
        externalTrafficPolicy,
        healthCheckNodePort: 30_000,
      })
      .slice('ns1/svc1', { p80: '80' }, ['10.180.0.1', '10.180.2.1*']);
  const external = ['192.168.99.11:80', '1.2.3.4:80', '192.168.0.2:3001'];
  test('G: Local', async () => {
    expectFlows(await program(cluster('Local')), [
      [`${POD} -> 172.30.0.41:80`, both],
      ...external.map((to): Flow => [`${POD} -> ${to}`, both]),
      ...external.map((to): Flow => [`${EXT} -> ${to}`, '10.180.2.1:80']),
    ]);
  });
  test('H: Cluster', async () => {
    expectFlows(await program(cluster('Cluster')), [
      [`${POD} -> 172.30.0.41:80`, both],
      ...external.map((to): Flow => [`${POD} -> ${to}`, both, M]),
      ...external.map((to): Flow => [`${EXT} -> ${to}`, both, M]),
    ]);
  });
});

test.each([
  ['I1', 'Cluster', ['10.0.1.1*', '10.0.1.2', '10.0.1.3'], '10.0.1.1:80, 10.0.1.2:80, 10.0.1.3:80'],
  ['I2', 'Local', ['10.0.1.1*', '10.0.1.2', '10.0.1.3'], '10.0.1.1:80'],
  ['I3', 'Local', ['10.0.1.1*', '10.0.1.2*', '10.0.1.3'], '10.0.1.1:80, 10.0.1.2:80'],
  ['I4', 'Local', ['10.0.1.1', '10.0.1.2', '10.0.1.3'], 'DROP'],
])('%s: internal policy %s', async (_, internalTrafficPolicy, addresses, outcome) => {
  const cluster = scenario()
    .service('ns1/svc1', { clusterIP: '172.30.1.1', internalTrafficPolicy })
    .slice('ns1/svc1', { '': '80' }, addresses);
  expectFlows(await program(cluster), [[`${POD} -> 172.30.1.1:80`, outcome]]);
  cluster.deleteSlice('ns1/svc1');
  expectFlows(await program(cluster), [[`${POD} -> 172.30.1.1:80`, 'REJECT']]);
});

describe('J, K: terminating endpoints stand in', () => {
  const a = '10.0.1.1:80';
  const b = '10.0.1.2:80';
  const c = '10.0.1.3:80';
  const e = '10.0.1.5:80';
  test.each([
    ['J1', 'Local', ['1*', '2*', '3* T', '4* X', '5'], `${a}, ${b}, ${e}`, `${a}, ${b}`],
    ['J2', 'Local', ['2* T', '3* T', '4* X', '5'], e, `${b}, ${c}`],
    ['J3', 'Local', ['5 T'], e, 'DROP'],
    ['J4', 'Local', ['4* X', '5 X'], 'REJECT', 'REJECT'],
    ['K1', 'Cluster', ['1*', '2*', '3 T', '4 X', '5'], `${a}, ${b}, ${e}`, `${a}, ${b}, ${e}`],
    ['K2', 'Cluster', ['2* T', '3* T', '4 X', '5 T'], `${b}, ${c}, ${e}`, `${b}, ${c}, ${e}`],
    ['K3', 'Cluster', ['5 T'], e, e],
    ['K4', 'Cluster', ['4* X', '5 X'], 'REJECT', 'REJECT'],
  ] as const)('%s', async (_, externalTrafficPolicy, addresses, internal, external) => {
    const cluster = scenario()
      .service('ns1/svc1', {
        ...balanced({}, ['1.2.3.4']),
        clusterIP: '172.30.1.1',
        externalTrafficPolicy,
        healthCheckNodePort: 30_000,
      })
      .slice(
        'ns1/svc1',
        { '': '80' },
        addresses.map((text) => `10.0.1.${text}`),
      );
    const masqueraded = externalTrafficPolicy === 'Cluster' && external !== 'REJECT';
    expectFlows(await program(cluster), [
      [`${POD} -> 172.30.1.1:80`, internal],
      masqueraded ? [`${EXT} -> 1.2.3.4:80`, external, M] : [`${EXT} -> 1.2.3.4:80`, external],
    ]);
    cluster.deleteSlice('ns1/svc1');
    expectFlows(await program(cluster), [
      [`${POD} -> 172.30.1.1:80`, 'REJECT'],
      [`${EXT} -> 1.2.3.4:80`, 'REJECT'],
    ]);
  });
});

describe('L: who is masqueraded', () => {
  const services = [
    { n: 1, nodePort: 3001, vip: '1.2.3.4', fields: {} },
    { n: 2, nodePort: 3002, vip: '5.6.7.8', fields: { externalTrafficPolicy: 'Local' } },
    { n: 3, nodePort: 3003, vip: '9.10.11.12', fields: { internalTrafficPolicy: 'Local' } },
  ];
  const both = (n: number) => `10.180.0.${n}:80, 10.180.1.${n}:80`;
  const local = (n: number) => `10.180.0.${n}:80`;
  test.each([
    ['base', true, false],
    ['no detector', false, false],
    ['masqueradeAll', true, true],
    ['masqueradeAll, no detector', false, true],
  ])('%s', async (_, detector, masqueradeAll) => {
    const cluster = scenario({ masqueradeAll, ...(detector ? {} : { localTraffic: { kind: 'none' } }) });
    for (const { n, nodePort, vip, fields } of services) {
      cluster
        .service(`ns/svc${n}`, {
          ...balanced({ nodePort }, [vip]),
          clusterIP: `172.30.0.4${n}`,
          healthCheckNodePort: 30_000 + n,
          ...fields,
        })
        .slice(`ns/svc${n}`, { '': '80' }, [`10.180.0.${n}*`, `10.180.1.${n}`]);
    }
    const flow = (text: string, outcome: string, masqueraded: boolean): Flow =>
      masqueraded ? [text, outcome, M] : [text, outcome];
    const flows: Flow[] = [];
    for (const { n, nodePort, vip } of services) {
      const inside = n === 3 ? local(n) : both(n);
      flows.push(flow(`${POD} -> 172.30.0.4${n}:80`, inside, masqueradeAll));
      for (const from of [NODE, EXT])
        flows.push(flow(`${from} -> 172.30.0.4${n}:80`, inside, masqueradeAll || detector));
      for (const to of [`192.168.0.2:${nodePort}`, `${vip}:80`]) {
        flows.push(flow(`${POD} -> ${to}`, n === 2 && !detector ? local(n) : both(n), n !== 2));
        flows.push(flow(`${NODE} -> ${to}`, both(n), true));
        flows.push(flow(`${EXT} -> ${to}`, n === 2 ? local(n) : both(n), n !== 2));
      }
      flows.push(flow(`${LO} -> 127.0.0.1:${nodePort}`, both(n), true));
    }
    expect(flows).toHaveLength(30);
    expectFlows(await program(cluster), flows);
  });
});
