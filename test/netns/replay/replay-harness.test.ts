import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Testbed } from '../testbed/testbed.ts';
import { loadTopology } from '../testbed/topology.ts';
import { cleanNode } from './clean-node.ts';
import { FileFeed } from './file-feed.ts';
import { replayScenario, type ScenarioResult } from './replay-scenario.ts';
import { fullReport } from './report.ts';
import { loadScenario, type ReplayMode, SCENARIO_DIRECTORY, type Scenario } from './scenario.ts';
import { ScriptedProxy, type ScriptedRules } from './scripted-proxy.ts';

let bed: Testbed;
beforeAll(async () => {
  bed = await Testbed.create(loadTopology(new URL('topology.json', SCENARIO_DIRECTORY)));
});
afterAll(() => bed?.close());

const FROM_OUTSIDE = 'ip saddr != 10.244.0.0/16 meta mark set meta mark | 0x4000';
const HAIRPIN = 'ip saddr 10.244.1.2 meta mark set meta mark | 0x4000';
/** Half of the connections to each of two endpoints; the hairpin mark only where pod-a reaches itself. */
const TWO_ENDPOINTS = [
  'numgen random mod 2 == 1 dnat ip to 10.244.2.2:8080',
  `${HAIRPIN} dnat ip to 10.244.1.2:8080`,
  'dnat ip to 10.244.1.2:8080',
];
const WEB = 'ip daddr 10.96.0.10 tcp dport 80';
const NODE_PORT = 'ip daddr 172.31.0.11 tcp dport 30080';

async function replay(
  name: string | Scenario,
  rules: ScriptedRules | ((step: number) => ScriptedRules),
  mode: ReplayMode = 'nftables',
): Promise<ScenarioResult & { readonly proxy: ScriptedProxy }> {
  const proxy = new ScriptedProxy(bed, typeof rules === 'function' ? rules : () => rules);
  const result = await replayScenario(typeof name === 'string' ? loadScenario(name) : name, {
    bed,
    mode,
    proxy,
    createFeed: () => FileFeed.create(),
    settleTimeoutMilliseconds: 3000,
  });
  return { ...result, proxy };
}

/** Fewer requests: where some of them time out, all have to be waited for. */
function shortened(name: string): Scenario {
  const full = loadScenario(name);
  return { ...full, probes: full.probes.map((probe) => ({ ...probe, count: Math.min(probe.count, 8) })) };
}

function expectPass(result: ScenarioResult): void {
  if (result.failures.length > 0) expect.fail(fullReport(result));
}

function prefix(match: string, statements: readonly string[]): string[] {
  return statements.map((statement) => `${match} ${statement}`);
}

const CLUSTER_IP = { nat: prefix(WEB, [FROM_OUTSIDE, ...TWO_ENDPOINTS]) };
const NODE_PORTS = {
  nat: prefix(NODE_PORT, ['meta mark set meta mark | 0x4000', ...TWO_ENDPOINTS]),
};
const REFUSE = { nat: [], filter: ['ip daddr 10.96.0.10 reject'] };

describe('right rules pass', () => {
  test.each([
    ['clusterip-tcp', CLUSTER_IP],
    ['nodeport-tcp', NODE_PORTS],
    ['no-endpoints', REFUSE],
    ['direct-traffic', { nat: [] }],
  ])('%s', async (name, rules) => {
    const result = await replay(name, rules);
    expectPass(result);
  });

  test('unhandled: the packet leaves the node with the service address in it', async () => {
    const result = await replay(loadScenario('clusterip-unallocated'), { nat: [] }, 'iptables');
    expectPass(result);
  });

  test('steps: rules follow the objects', async () => {
    const outside = 'ip daddr { 172.31.0.11, 203.0.113.20 } tcp dport { 80, 30080 }';
    const served = {
      nat: [
        `${WEB} dnat ip to 10.244.1.2:8080`,
        ...prefix(outside, ['meta mark set 0x4000 dnat ip to 10.244.1.2:8080']),
      ],
    };
    const refused = {
      nat: [],
      filter: prefix('ip daddr { 10.96.0.10, 172.31.0.11, 203.0.113.20 } tcp dport { 80, 30080 }', [
        'reject',
      ]),
    };
    const result = await replay('last-endpoint-leaves', (step) =>
      (step % 2 === 0 && step < 5) || step === 7 ? served : refused,
    );
    expectPass(result);
  });
});

describe('wrong rules fail, and the report says how', () => {
  test.each<[string, string, ScriptedRules, RegExp]>([
    ['no masquerade', 'clusterip-tcp', { ...CLUSTER_IP, masquerade: false }, /saw source|never met|ended as/],
    [
      'an endpoint is left out',
      'clusterip-tcp',
      { nat: prefix(WEB, [FROM_OUTSIDE, ...TWO_ENDPOINTS.slice(1)]) },
      /10\.244\.2\.2:8080 was never met/,
    ],
    [
      'a stranger answers',
      'clusterip-tcp',
      {
        nat: prefix(WEB, [
          FROM_OUTSIDE,
          'numgen random mod 3 == 1 dnat ip to 10.244.1.3:8080',
          ...TWO_ENDPOINTS,
        ]),
      },
      /unexpected server 10\.244\.1\.3:8080/,
    ],
    [
      'everything is masqueraded',
      'clusterip-tcp',
      { nat: prefix(WEB, ['meta mark set 0x4000', ...TWO_ENDPOINTS]) },
      /saw source node, not preserved/,
    ],
    [
      'another address is served',
      'nodeport-tcp',
      { nat: [...NODE_PORTS.nat, 'ip daddr 172.31.1.11 tcp dport 30080 dnat ip to 10.244.1.2:8080'] },
      /answered, though every request should end as refused/,
    ],
    [
      'dropped, not refused',
      'no-endpoints',
      { nat: [], filter: ['ip daddr 10.96.0.10 drop'] },
      /ended as timeout, not refused/,
    ],
    ['let through, not refused', 'no-endpoints', { nat: [] }, /ended as unhandled, not refused/],
    [
      'direct traffic is touched',
      'direct-traffic',
      { nat: ['ip daddr 10.244.2.2 meta mark set 0x4000'] },
      /saw source/,
    ],
  ])('%s', async (_, name, rules, reason) => {
    const result = await replay(shortened(name), rules);
    expect(result.failures).not.toEqual([]);
    expect(fullReport(result)).toMatch(reason);
    expect(fullReport(result)).toContain('table inet scripted');
  });

  test('a change that never arrives ends as not settled', async () => {
    const result = await replay('clusterip-tcp', {
      nat: ['ip daddr 10.96.255.250 drop'],
      filter: ['ip daddr 10.244.1.4 drop'],
    });
    expect(result.failures[0]?.error).toContain('not settled');
  });
});

test('a cleaned node has no rules of either kind, no connections and the usual sysctls', async () => {
  const node = bed.agent('node1');
  await bed.run(
    'node1',
    ['nft', '-f', '-'],
    'table ip t { chain c { type filter hook input priority 0; ct state new; }; }',
  );
  for (const family of ['', '6']) {
    for (const table of ['filter', 'nat', 'mangle']) {
      await bed.run(
        'node1',
        [`ip${family}tables-legacy-restore`],
        `*${table}\n:MINE - [0:0]\n-A OUTPUT -j MINE\nCOMMIT\n`,
      );
    }
  }
  await node.setSysctls({ 'net.ipv4.conf.all.route_localnet': 1 });
  await bed.probe({ from: 'node1', to: '10.244.1.2:8080', count: 3, connection: 'open' });
  const count = '/proc/sys/net/netfilter/nf_conntrack_count';
  expect(Number(await node.readFile(count))).toBeGreaterThan(0);

  await cleanNode(bed);
  expect(await bed.run('node1', ['nft', 'list', 'ruleset'])).toBe('');
  for (const save of ['iptables-legacy-save', 'ip6tables-legacy-save']) {
    expect(await bed.run('node1', [save])).not.toMatch(/MINE|^-A/m);
  }
  expect(await node.readFile('/proc/sys/net/ipv4/conf/all/route_localnet')).toBe('0\n');
  expect(await node.readFile(count)).toBe('0\n');
});

describe('the order of a step', () => {
  test('stop leaves the rules, start can switch the mode', async () => {
    const { objects } = loadScenario('clusterip-tcp');
    const probe = (mode: string) => ({
      from: 'pod-b',
      to: '10.96.0.10:80',
      count: 4,
      expect: {
        nftables: mode === 'served' ? { endpoints: ['10.244.1.2:8080'], source: 'preserved' as const } : mode,
      },
    });
    const steps: Scenario['steps'] = [
      {
        proxy: 'stop',
        delete: [{ kind: 'Service', name: 'web', namespace: 'default' }],
        probes: [probe('served')],
      },
      { proxy: 'start', mode: 'other', probes: [probe('refused')] },
      { proxy: 'restart', probes: [probe('served')] },
    ];
    const { proxy, ...result } = await replay(
      { name: 'order', about: '', modes: [], objects, probes: [probe('served')], steps },
      (step) => (step === 2 ? REFUSE : { nat: prefix(WEB, ['dnat ip to 10.244.1.2:8080']) }),
    );
    expectPass(result);
    expect(proxy.starts.map(({ mode, config }) => [mode, config['mode']])).toEqual([
      ['nftables', 'nftables'],
      ['iptables', 'iptables'],
      ['nftables', 'nftables'],
    ]);
  });
});
