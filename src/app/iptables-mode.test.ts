import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { IpFamily } from '../base/ip.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { chooseIptables } from '../dataplane/iptables/choose-iptables.ts';
import { FakeIptables } from '../dataplane/iptables/testing/fake-iptables.ts';
import { TestCluster } from '../dataplane/testing/test-cluster.ts';
import { IptablesError } from '../kernel/iptables/iptables-error.ts';
import { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { Registry } from '../metrics/registry.ts';
import { openIptablesMode } from './iptables-mode.ts';

const host = vi.hoisted(() => ({
  installed: new Set<string>(),
  withoutNat: new Set<string>(),
  withNftNat: new Set<string>(),
  opened: [] as FakeIptables[],
  tcpBeLiberal: '0',
}));

vi.mock('../kernel/nftables/nftables-connection.ts', () => ({
  NftablesConnection: {
    open() {
      throw new Error('not in a unit test');
    },
  },
}));
vi.mock('./packet-counters.ts', () => ({
  openPacketCounters: () => ({ ensure: async () => new Set(), close() {} }),
}));

vi.mock('../dataplane/iptables/choose-iptables.ts', () => ({
  chooseIptables: (async (family) => {
    const program = family === 'IPv4' ? 'iptables' : 'ip6tables';
    if (!host.installed.has(program)) {
      const detail = { code: 'IPTABLES_NOT_STARTED', program, reason: 'it is not installed' } as const;
      throw new IptablesError(detail, `cannot run ${program}: it is not installed`);
    }
    const iptables = new FakeIptables(family, 'legacy');
    host.opened.push(iptables);
    iptables.isUsable = async () => !host.withoutNat.has(program);
    const other = new FakeIptables(family, 'nft');
    other.isUsable = async () => host.withNftNat.has(program);
    return { iptables, reason: 'a test', others: [other], withLeftovers: [], mayHaveIpvsLeftovers: false };
  }) satisfies typeof chooseIptables,
}));

beforeEach(() => {
  host.installed = new Set(['iptables', 'ip6tables']);
  host.withoutNat = new Set();
  host.withNftNat = new Set();
  host.opened = [];
  host.tcpBeLiberal = '0';
});

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function open(families: readonly IpFamily[] = ['IPv4', 'IPv6']) {
  const lines: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    with: () => logger,
    info: (message, values) => lines.push({ message, ...values }),
  };
  const read = () => host.tcpBeLiberal;
  const metrics = new ProxyMetrics();
  const mode = await openIptablesMode({ syncPeriod: 30_000 } as ProxyConfiguration, families, {
    clock: new FakeClock(),
    logger,
    sysctls: { read, write() {} },
    metrics,
    registry: new Registry(),
    onForeignEdit() {},
    onSetAside() {},
  });
  closers.push(() => mode.close());
  const missing = lines.filter((line) =>
    (line as { message: string }).message.startsWith('No iptables support'),
  );
  const backends = lines.flatMap((line) => (line as { backend?: string }).backend ?? []);
  return { families: [...mode.proxiers.keys()], backends, missing, proxiers: mode.proxiers, metrics };
}

test('both families where both are there', async () => {
  expect(await open()).toMatchObject({ families: ['IPv4', 'IPv6'], missing: [] });
});

test('without ip6tables IPv4 alone is served, and the log says so (C122)', async () => {
  host.installed.delete('ip6tables');
  expect(await open()).toMatchObject({
    families: ['IPv4'],
    missing: [
      expect.objectContaining({ ipFamily: 'IPv6', err: expect.stringContaining('cannot run ip6tables') }),
    ],
  });
});

test('a family whose table nat is missing is left out, the first one too (C122)', async () => {
  host.withoutNat.add('iptables');
  expect(await open()).toMatchObject({
    families: ['IPv6'],
    missing: [expect.objectContaining({ ipFamily: 'IPv4', err: expect.stringContaining('no table nat') })],
  });
});

test('a back-end that the kernel lacks gives way to the other one (C100)', async () => {
  host.withoutNat.add('iptables');
  host.withNftNat.add('iptables');
  expect(await open()).toMatchObject({
    families: ['IPv4', 'IPv6'],
    backends: ['nft', 'legacy'],
    missing: [],
  });
});

test('none at all is an error (C122)', async () => {
  host.installed.clear();
  await expect(open()).rejects.toMatchObject({ code: 'APP_FAMILY_NOT_SUPPORTED' });
});

test('liberal tracking counts although it is set after the mode is opened (C103)', async () => {
  const { proxiers } = await open(['IPv4']);
  host.tcpBeLiberal = '1';
  await proxiers.get('IPv4')!.sync(new TestCluster().plan(), undefined);
  expect(host.opened[0]!.dump()).not.toContain('INVALID');
});

test('refused writes are counted, also where the sync sets the fault aside and goes on', async () => {
  const { proxiers, metrics } = await open(['IPv4']);
  const proxier = proxiers.get('IPv4')!;
  const labels = { ip_family: 'IPv4' } as const;
  const counts = () => [
    metrics.iptablesRestoreFailures.with(labels).value,
    metrics.iptablesPartialRestoreFailures.with(labels).value,
  ];
  const cluster = new TestCluster().service('ns/a', {}).slice('ns/a', { '': '80' }, ['10.0.0.1']);
  await proxier.sync(cluster.plan(), undefined);
  expect(counts()).toEqual([0, 0]);
  const iptables = host.opened[0]!;
  iptables.refuse = ({ text }) => (text.includes('10.9.9.9') ? 'reading' : 'no');
  const { plan, diff } = cluster.slice('ns/a', { '': '80' }, ['10.9.9.9']).update();
  await proxier.sync(plan, diff);
  expect(counts()).toEqual([1, 1]);
  iptables.refuse = ({ text }) => (text.includes('MASQUERADE') ? 'reading' : 'no');
  await expect(proxier.sync(plan, undefined)).rejects.toThrow('bad argument');
  expect(counts()).toEqual([2, 1]);
});

test('after one change the gauges tell all rules that are ours, and apart from them what was written (C125)', async () => {
  const { proxiers, metrics } = await open(['IPv4']);
  const proxier = proxiers.get('IPv4')!;
  const cluster = new TestCluster();
  for (let i = 1; i <= 100; i++) {
    const name = `ns/s${i}`;
    cluster.service(name, { clusterIP: `10.96.0.${i}`, ports: [{ name: 'p80' }] });
    cluster.slice(name, { p80: '80' }, [`10.0.0.${i}`]);
  }
  const gauges = () => {
    const of = (table: string) => [
      metrics.iptablesRulesTotal.with({ table, ip_family: 'IPv4' }).value,
      metrics.iptablesRulesLastSync.with({ table, ip_family: 'IPv4' }).value,
    ];
    return { nat: of('nat'), filter: of('filter') };
  };
  const inTables = () => {
    const sections = host.opened[0]!.dump().split(/^\*/m);
    const count = (table: string) =>
      sections.find((text) => text.startsWith(`${table}\n`))!.match(/^-A KUBE-/gm)!.length;
    return { nat: count('nat'), filter: count('filter') };
  };
  await proxier.sync(cluster.plan(), undefined);
  const before = inTables();
  expect(gauges()).toEqual({
    nat: [before.nat, before.nat],
    filter: [before.filter, before.filter],
  });
  const { plan, diff } = cluster.slice('ns/s7', { p80: '80' }, ['10.0.1.1', '10.0.1.2']).update();
  await proxier.sync(plan, diff);
  const { nat, filter } = inTables();
  expect(nat).toBeGreaterThan(before.nat);
  expect(gauges().nat[0]).toBe(nat);
  expect(gauges().nat[1]).toBeLessThan(20);
  expect(gauges().filter).toEqual([filter, 0]);
});
