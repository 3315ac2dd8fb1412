import { describe, expect, test } from 'vitest';
import type { ServiceFields } from '../../model/testing/objects.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { fullSync, type Step, ways } from './testing/cluster-steps.ts';
import type { TestTable } from './testing/test-table.ts';
import { outcomeText, packetOf, tracePacket } from './testing/trace-packet.ts';

// The environment of spec A24.
const POD = '10.0.0.2';
const POD2 = '10.180.0.2';
const NODE = '192.168.0.2';
const EXT = '203.0.113.2';
const BLOCKED = '203.0.113.130';
const EXT6 = '2600:5200::1';
const node = {
  localAddresses: new Set([NODE, '192.168.1.2', '192.168.99.11', '2001:db8::1', '2001:db8:1::2']),
};
const environment = { nodeName: 'test-node', nodeIP: NODE, nodePortAddresses: [NODE] };
const environment6 = {
  family: 'IPv6',
  nodeName: 'test-node',
  nodeIP: '2001:db8::1',
  nodePortAddresses: ['2001:db8::1'],
  localTraffic: { kind: 'cidr', cidr: 'fd00:10::/64' },
  serviceCIDRs: ['fd00:172:30::/112'],
} satisfies Partial<PlanSettings>;

/** `from -> to:port[/protocol]`, and what comes of it. */
type Flow = readonly [flow: string, outcome: string];

const M = ' masqueraded';
const service = (key: string, fields: ServiceFields): Step => ({ kind: 'service', key, fields });
const slice = (
  key: string,
  addresses: readonly string[],
  ports: Readonly<Record<string, string>> = { p80: '80' },
): Step => ({ kind: 'slice', key, addresses, ports });
const deleted = (key: string): Step => ({ kind: 'deleted slice', key });
const balanced = (vips: readonly string[], nodePort: number, fields: ServiceFields = {}): ServiceFields => ({
  type: 'LoadBalancer',
  ports: [{ name: 'p80', nodePort }],
  loadBalancerIngress: vips.map((ip) => ({ ip, ipMode: '' })),
  healthCheckNodePort: 30_000,
  ...fields,
});

function expectFlows(table: TestTable, flows: readonly Flow[]): void {
  const listing = table.listing();
  const found = flows.map(([flow]) => [flow, outcomeText(tracePacket(listing, packetOf(flow), node))]);
  expect(found).toEqual(flows.map(([flow, outcome]) => [flow, outcome]));
}

interface Vector {
  /** Numbers in the spec, and what is shown. */
  readonly rows: string;
  readonly settings?: Partial<PlanSettings>;
  readonly steps: readonly Step[];
  readonly flows: readonly Flow[];
}

const C1 = [
  service('ns1/svc1', { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }] }),
  slice('ns1/svc1', ['10.180.0.1*']),
];
const C2 = [
  service('ns2/svc2', {
    clusterIP: '172.30.0.42',
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
      { name: 'dns-udp', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53 },
      { name: 'dns-sctp', port: 53, protocol: 'SCTP' },
    ],
  }),
  slice('ns2/svc2', ['10.180.0.1*', '10.180.2.1'], {
    http: '80',
    https: '8443',
    'dns-udp': '53/UDP',
    'dns-tcp': '5353',
    'dns-sctp': '53/SCTP',
  }),
];
const both = (port: number) => `10.180.0.1:${port}, 10.180.2.1:${port}`;
const NPS = [
  service('ns1/svc1', {
    type: 'NodePort',
    clusterIP: '172.30.0.41',
    ports: [{ name: 'p80', nodePort: 3001 }],
  }),
  slice('ns1/svc1', ['10.180.0.1', '10.180.2.1*']),
];
const NPS6 = [
  service('ns1/svc1', {
    type: 'NodePort',
    clusterIP: 'fd00:172:30::41',
    ports: [{ name: 'p80', nodePort: 3001 }],
  }),
  slice('ns1/svc1', ['fd00:10:180::1', 'fd00:10:180::2:1*']),
];
const both6 = '[fd00:10:180::1]:80, [fd00:10:180::2:1]:80';
const X = (externalTrafficPolicy: string) => [
  service(
    'ns1/svc1',
    balanced(['1.2.3.4'], 3001, {
      clusterIP: '172.30.0.41',
      externalIPs: ['192.168.99.11'],
      externalTrafficPolicy,
    }),
  ),
  slice('ns1/svc1', ['10.180.0.1', '10.180.2.1*']),
];
const external = ['192.168.99.11:80', '1.2.3.4:80', `${NODE}:3001`];
const IT = (internalTrafficPolicy: string, addresses: readonly string[]) => [
  service('ns1/svc1', { clusterIP: '172.30.1.1', ports: [{ name: 'p80' }], internalTrafficPolicy }),
  slice('ns1/svc1', addresses),
];
const TERM = (externalTrafficPolicy: string, addresses: readonly string[]) => [
  service('ns1/svc1', balanced(['1.2.3.4'], 0, { clusterIP: '172.30.1.1', externalTrafficPolicy })),
  slice('ns1/svc1', addresses),
];
const internal = (outcome: string): Flow => [`${POD} -> 172.30.1.1:80`, outcome];
const outside = (outcome: string): Flow => [`${EXT} -> 1.2.3.4:80`, outcome];
const dot = (...ids: number[]) => ids.map((id) => `10.0.1.${id}:80`).join(', ');
const MIX = [
  service('ns1/m1', balanced(['1.2.3.4'], 3001, { clusterIP: '172.30.0.41' })),
  slice('ns1/m1', ['10.180.0.1*', '10.180.1.1']),
  service(
    'ns1/m2',
    balanced(['5.6.7.8'], 3002, { clusterIP: '172.30.0.42', externalTrafficPolicy: 'Local' }),
  ),
  slice('ns1/m2', ['10.180.0.2*', '10.180.1.2']),
  service(
    'ns1/m3',
    balanced(['9.10.11.12'], 3003, { clusterIP: '172.30.0.43', internalTrafficPolicy: 'Local' }),
  ),
  slice('ns1/m3', ['10.180.0.3*', '10.180.1.3']),
];
const of = (n: number) => `10.180.0.${n}:80, 10.180.1.${n}:80`;
const here = (n: number) => `10.180.0.${n}:80`;
/** One flow from a client to ClusterIP, node port and load-balancer address of Mn. */
const toM = (from: string, n: number, clusterIP: string, nodePort: string, vip: string): Flow[] => [
  [`${from} -> 172.30.0.4${n}:80`, clusterIP],
  [`${from} -> ${NODE}:300${n}`, nodePort],
  [`${from} -> ${['1.2.3.4', '5.6.7.8', '9.10.11.12'][n - 1]}:80`, vip],
];
const noDetector = { localTraffic: { kind: 'none' } } as const;

const vectors: readonly Vector[] = [
  {
    rows: '1 to 4: a load balancer without endpoints',
    steps: [
      service(
        'ns1/svc1',
        balanced(['1.2.3.4'], 3001, { clusterIP: '172.30.0.41', externalIPs: ['192.168.99.11'] }),
      ),
    ],
    flows: [
      [`${POD} -> 172.30.0.41:80`, 'reject'],
      [`${EXT} -> 192.168.99.11:80`, 'reject'],
      [`${POD} -> ${NODE}:3001`, 'reject'],
      [`${EXT} -> ${NODE}:3001`, 'reject'],
      [`${NODE} -> ${NODE}:3001`, 'reject'],
      [`${POD} -> 1.2.3.4:80`, 'reject'],
      [`${EXT} -> 1.2.3.4:80`, 'reject'],
    ],
  },
  {
    rows: '5 to 14: ClusterIPs, ports and protocols',
    steps: [...C1, ...C2],
    flows: [
      [`${POD2} -> 172.30.0.41:80`, '10.180.0.1:80'],
      ['10.180.0.1 -> 172.30.0.41:80', `10.180.0.1:80${M}`],
      [`${POD2} -> 172.30.0.42:80`, both(80)],
      [`${POD2} -> 172.30.0.42:443`, both(8443)],
      [`${POD2} -> 172.30.0.42:53`, both(5353)],
      [`${POD2} -> 172.30.0.42:53/udp`, both(53)],
      [`${POD2} -> 172.30.0.42:53/sctp`, both(53)],
      [`${POD2} -> 172.30.0.42:80/udp`, 'reject'],
      [`${POD2} -> 172.30.0.41:443`, 'reject'],
      [`${POD2} -> 172.30.0.41:0/icmp`, 'reject'],
      [`${NODE} -> 172.30.0.41:443`, 'reject'],
      [`${POD2} -> 172.30.0.50:80`, 'drop'],
      [`${NODE} -> 172.30.0.50:80`, 'drop'],
      [`${POD2} -> 172.31.0.50:80`, 'pass'],
    ],
  },
  {
    rows: '15 to 22: source ranges',
    steps: [
      service(
        'ns1/svc1',
        balanced(['1.2.3.4', '5.6.7.8'], 3001, {
          clusterIP: '172.30.0.41',
          loadBalancerSourceRanges: ['192.168.0.0/24', ' 203.0.113.0/25'],
        }),
      ),
      slice('ns1/svc1', ['10.180.0.1*']),
    ],
    flows: [
      [`${POD} -> 172.30.0.41:80`, '10.180.0.1:80'],
      [`${EXT} -> ${NODE}:3001`, `10.180.0.1:80${M}`],
      [`${BLOCKED} -> ${NODE}:3001`, `10.180.0.1:80${M}`],
      [`${EXT} -> 1.2.3.4:80`, `10.180.0.1:80${M}`],
      [`${EXT} -> 5.6.7.8:80`, `10.180.0.1:80${M}`],
      [`${BLOCKED} -> 1.2.3.4:80`, 'drop'],
      [`${BLOCKED} -> 5.6.7.8:80`, 'drop'],
      [`${POD} -> 1.2.3.4:80`, 'drop'],
      [`${POD} -> 5.6.7.8:80`, 'drop'],
      [`${NODE} -> 1.2.3.4:80`, `10.180.0.1:80${M}`],
      ['1.2.3.4 -> 1.2.3.4:80', `10.180.0.1:80${M}`],
    ],
  },
  {
    rows: '23 to 25: node ports on the primary address',
    steps: NPS,
    flows: [
      [`${POD} -> 172.30.0.41:80`, both(80)],
      [`${EXT} -> ${NODE}:3001`, `${both(80)}${M}`],
      [`${NODE} -> ${NODE}:3001`, `${both(80)}${M}`],
      [`${EXT} -> 192.168.1.2:3001`, 'pass'],
      ['127.0.0.1 -> 127.0.0.1:3001', 'pass'],
    ],
  },
  {
    rows: '26: node ports on two addresses',
    settings: { nodePortAddresses: [NODE, '192.168.1.2'] },
    steps: NPS,
    flows: [[`${EXT} -> 192.168.1.2:3001`, `${both(80)}${M}`]],
  },
  {
    rows: 'A13: node ports on all addresses',
    settings: { nodePortAddresses: 'all' },
    steps: NPS,
    flows: [
      [`${EXT} -> 192.168.1.2:3001`, `${both(80)}${M}`],
      [`${EXT} -> 192.168.1.3:3001`, 'pass'],
      ['127.0.0.1 -> 127.0.0.1:3001', 'pass'],
    ],
  },
  {
    rows: '27 and 28: node ports, IPv6',
    settings: environment6,
    steps: NPS6,
    flows: [
      ['fd00:10::2 -> [fd00:172:30::41]:80', both6],
      [`${EXT6} -> [2001:db8::1]:3001`, `${both6}${M}`],
      [`${EXT6} -> [2001:db8:1::2]:3001`, 'pass'],
      ['::1 -> [::1]:3001', 'pass'],
    ],
  },
  {
    rows: '28: node ports on a second address, IPv6',
    settings: { ...environment6, nodePortAddresses: ['2001:db8::1', '2001:db8:1::2'] },
    steps: NPS6,
    flows: [[`${EXT6} -> [2001:db8:1::2]:3001`, `${both6}${M}`]],
  },
  {
    rows: '29 and 30: external policy Local',
    steps: X('Local'),
    flows: [
      [`${POD} -> 172.30.0.41:80`, both(80)],
      ...external.map((to): Flow => [`${POD} -> ${to}`, both(80)]),
      ...external.map((to): Flow => [`${EXT} -> ${to}`, '10.180.2.1:80']),
    ],
  },
  {
    rows: '31 to 33: external policy Cluster',
    steps: X('Cluster'),
    flows: [
      [`${POD} -> 172.30.0.41:80`, both(80)],
      ...external.map((to): Flow => [`${POD} -> ${to}`, `${both(80)}${M}`]),
      ...external.map((to): Flow => [`${EXT} -> ${to}`, `${both(80)}${M}`]),
    ],
  },
  {
    rows: '34: internal policy Cluster',
    steps: IT('Cluster', ['10.0.1.1*', '10.0.1.2', '10.0.1.3']),
    flows: [internal(dot(1, 2, 3))],
  },
  {
    rows: '35: internal policy Local',
    steps: IT('Local', ['10.0.1.1*', '10.0.1.2', '10.0.1.3']),
    flows: [internal(dot(1))],
  },
  {
    rows: '36: internal policy Local, two here',
    steps: IT('Local', ['10.0.1.1*', '10.0.1.2*', '10.0.1.3']),
    flows: [internal(dot(1, 2))],
  },
  {
    rows: '37: internal policy Local, none here',
    steps: IT('Local', ['10.0.1.1', '10.0.1.2', '10.0.1.3']),
    flows: [internal('drop')],
  },
  ...['Cluster', 'Local'].map((policy) => ({
    rows: `38: internal policy ${policy}, no endpoints any more`,
    steps: [...IT(policy, ['10.0.1.1*', '10.0.1.2']), deleted('ns1/svc1')],
    flows: [internal('reject')],
  })),
  {
    rows: '39: terminating endpoints beside ready ones',
    steps: TERM('Local', ['10.0.1.1*', '10.0.1.2*', '10.0.1.3* T', '10.0.1.4* X', '10.0.1.5']),
    flows: [internal(dot(1, 2, 5)), outside(dot(1, 2))],
  },
  {
    rows: '40: terminating endpoints here, a ready one elsewhere',
    steps: TERM('Local', ['10.0.1.2* T', '10.0.1.3* T', '10.0.1.4* X', '10.0.1.5']),
    flows: [internal(dot(5)), outside(dot(2, 3))],
  },
  {
    rows: '41: one terminating endpoint elsewhere',
    steps: TERM('Local', ['10.0.1.5 T']),
    flows: [internal(dot(5)), outside('drop')],
  },
  {
    rows: '42: only endpoints that do not serve',
    steps: TERM('Local', ['10.0.1.4* X', '10.0.1.5 X']),
    flows: [internal('reject'), outside('reject')],
  },
  {
    rows: '43: policy Cluster, terminating endpoints beside ready ones',
    steps: TERM('Cluster', ['10.0.1.1*', '10.0.1.2*', '10.0.1.3 T', '10.0.1.4 X', '10.0.1.5']),
    flows: [internal(dot(1, 2, 5)), outside(`${dot(1, 2, 5)}${M}`)],
  },
  {
    rows: '44: policy Cluster, only terminating endpoints',
    steps: TERM('Cluster', ['10.0.1.2* T', '10.0.1.3* T', '10.0.1.4 X', '10.0.1.5 T']),
    flows: [internal(dot(2, 3, 5)), outside(`${dot(2, 3, 5)}${M}`)],
  },
  {
    rows: '45 to 52: policies side by side',
    steps: MIX,
    flows: [
      ...toM(POD, 1, of(1), of(1) + M, of(1) + M),
      ...toM(NODE, 1, of(1) + M, of(1) + M, of(1) + M),
      ...toM(EXT, 1, of(1) + M, of(1) + M, of(1) + M),
      ...toM(POD, 2, of(2), of(2), of(2)),
      ...toM(NODE, 2, of(2) + M, of(2) + M, of(2) + M),
      ...toM(EXT, 2, of(2) + M, here(2), here(2)),
      ...toM(POD, 3, here(3), of(3) + M, of(3) + M),
      ...toM(NODE, 3, here(3) + M, of(3) + M, of(3) + M),
      ...toM(EXT, 3, here(3) + M, of(3) + M, of(3) + M),
    ],
  },
  {
    rows: '53 and 54: policies without a way to tell local traffic',
    settings: noDetector,
    steps: MIX,
    flows: [
      ...toM(NODE, 1, of(1), of(1) + M, of(1) + M),
      ...toM(EXT, 1, of(1), of(1) + M, of(1) + M),
      ...toM(POD, 2, of(2), here(2), here(2)),
      ...toM(NODE, 2, of(2), of(2) + M, of(2) + M),
      ...toM(EXT, 2, of(2), here(2), here(2)),
      ...toM(EXT, 3, here(3), of(3) + M, of(3) + M),
    ],
  },
  {
    rows: '55: masqueradeAll',
    settings: { masqueradeAll: true },
    steps: MIX,
    flows: [
      ...toM(POD, 1, of(1) + M, of(1) + M, of(1) + M),
      ...toM(POD, 2, of(2) + M, of(2), of(2)),
      ...toM(POD, 3, here(3) + M, of(3) + M, of(3) + M),
    ],
  },
  {
    rows: '56 and 57: external policy Local without an endpoint here',
    steps: [
      service(
        'ns2/svc2',
        balanced(['1.2.3.4'], 3001, {
          clusterIP: '172.30.0.42',
          externalIPs: ['192.168.99.22'],
          externalTrafficPolicy: 'Local',
        }),
      ),
      slice('ns2/svc2', ['10.180.0.2']),
    ],
    flows: [
      [`${NODE} -> 192.168.99.22:80`, `10.180.0.2:80${M}`],
      [`${EXT} -> 192.168.99.22:80`, 'drop'],
      [`${EXT} -> 1.2.3.4:80`, 'drop'],
      [`${EXT} -> ${NODE}:3001`, 'drop'],
      [`${POD} -> ${NODE}:3001`, '10.180.0.2:80'],
    ],
  },
];

describe.each(Object.entries(ways))('spec A24 by %s', (_, way) => {
  test.each(vectors)('$rows', async ({ settings = {}, steps, flows }) => {
    expectFlows(await way({ ...environment, ...settings }, steps), flows);
  });

  // First connections go the same way, whether or not later ones have to follow them.
  test.each(vectors)('with affinity, $rows', async ({ settings = {}, steps, flows }) => {
    const sticky = steps.map((step) =>
      step.kind === 'service' ? service(step.key, { ...step.fields, sessionAffinity: 'ClientIP' }) : step,
    );
    expectFlows(await way({ ...environment, ...settings }, sticky), flows);
  });
});

test.each([
  ['Proxy', false],
  ['VIP', true],
  ['', true],
] as const)('58: a load-balancer address in mode %j', async (ipMode, served) => {
  const table = await fullSync(environment, [
    service('ns1/svc1', balanced([], 0, { loadBalancerIngress: [{ ip: '1.2.3.4', ipMode }] })),
    slice('ns1/svc1', ['10.180.0.1']),
  ]);
  expectFlows(table, [[`${EXT} -> 1.2.3.4:80`, served ? `10.180.0.1:80${M}` : 'pass']]);
});

test('59: addresses are written in canonical form, however they were spelled', async () => {
  const table = await fullSync(environment, [
    service('ns1/svc1', {
      ...balanced(['1.2.3.004'], 0),
      clusterIP: '172.30.0.041',
      externalIPs: ['192.168.099.022'],
      loadBalancerSourceRanges: ['203.0.113.000/025'],
    }),
    slice('ns1/svc1', ['10.180.00.001']),
  ]);
  const text = table.describe();
  for (const address of ['172.30.0.41', '1.2.3.4', '192.168.99.22', '203.0.113.0/25', '10.180.0.1'])
    expect(text).toMatch(new RegExp(`[ \\t]${address.replaceAll('.', '\\.')}[ ,]`));
  expect(text).not.toMatch(/[. ]0[0-9]/);
});

test('A11: a client stays with the endpoint that it got', async () => {
  const table = await fullSync(environment, [
    service('ns1/svc1', balanced(['1.2.3.4'], 3001, { sessionAffinity: 'ClientIP' })),
    slice('ns1/svc1', ['10.180.0.1', '10.180.0.2', '10.180.0.3']),
  ]);
  const listing = table.listing();
  const first = tracePacket(listing, packetOf(`${EXT} -> 1.2.3.4:80`), node);
  expect(first.map(({ share }) => share)).toEqual([1 / 3, 1 / 3, 1 / 3]);
  for (const { destination, remembers } of first) {
    const remembered = new Map(remembers.map((set) => [set, new Set([EXT])]));
    const again = (flow: string) =>
      outcomeText(tracePacket(listing, packetOf(flow), { ...node, remembered }));
    expect(again(`${EXT} -> ${NODE}:3001`)).toBe(`${destination}${M}`);
    expect(again(`${BLOCKED} -> ${NODE}:3001`)).toContain(', ');
  }
});
