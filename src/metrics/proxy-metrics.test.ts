import { describe, expect, test } from 'vitest';
import { registerBuildInfo, registerFeatureGates } from './component-metrics.ts';
import { FairleadMetrics } from './fairlead-metrics.ts';
import { HistogramVec } from './histogram.ts';
import type { Metric, MetricFamily } from './metric-family.ts';
import { readProcessStartTime, registerProcessMetrics } from './process-metrics.ts';
import { ProxyMetrics, registerNfacctMetrics } from './proxy-metrics.ts';
import { Registry } from './registry.ts';
import { RestClientMetrics } from './rest-client-metrics.ts';
import { MAX_NAMED_OBJECTS } from './set-aside-metrics.ts';
import { SliMetrics } from './sli-metrics.ts';

const E = '0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384';
const N = `0.25 0.5
  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
  31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
  60 65 70 75 80 85 90 95 100 105 110 115 120 150 180 210 240 270 300`;
const D = '0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60';
const S = '64 256 512 1024 4096 16384 65536 262144 1048576 4194304 16777216';

type Row = readonly [name: string, type: string, labels: string, modes: string, buckets?: string];

/** The table of the operational contract (5.2), I iptables, V ipvs, N nftables. */
const UPSTREAM: readonly Row[] = [
  ['sync_proxy_rules_duration_seconds', 'histogram', 'ip_family', 'IVN', E],
  ['sync_full_proxy_rules_duration_seconds', 'histogram', 'ip_family', 'IN', E],
  ['sync_partial_proxy_rules_duration_seconds', 'histogram', 'ip_family', 'IN', E],
  ['sync_proxy_rules_last_timestamp_seconds', 'gauge', 'ip_family', 'IVN'],
  ['sync_proxy_rules_last_queued_timestamp_seconds', 'gauge', 'ip_family', 'IVN'],
  ['network_programming_duration_seconds', 'histogram', 'ip_family', 'IVN', N],
  ['sync_proxy_rules_endpoint_changes_pending', 'gauge', '', 'IVN'],
  ['sync_proxy_rules_endpoint_changes_total', 'counter', '', 'IVN'],
  ['sync_proxy_rules_service_changes_pending', 'gauge', '', 'IVN'],
  ['sync_proxy_rules_service_changes_total', 'counter', '', 'IVN'],
  ['sync_proxy_rules_no_local_endpoints_total', 'gauge', 'ip_family traffic_policy', 'IVN'],
  ['proxy_healthz_total', 'counter', 'code', 'IVN'],
  ['proxy_livez_total', 'counter', 'code', 'IVN'],
  ['conntrack_reconciler_sync_duration_seconds', 'histogram', 'ip_family', 'IVN', E],
  ['conntrack_reconciler_deleted_entries_total', 'counter', 'ip_family', 'IVN'],
  ['sync_proxy_rules_iptables_restore_failures_total', 'counter', 'ip_family', 'IV'],
  ['sync_proxy_rules_iptables_partial_restore_failures_total', 'counter', 'ip_family', 'I'],
  ['sync_proxy_rules_iptables_total', 'gauge', 'ip_family table', 'I'],
  ['sync_proxy_rules_iptables_last', 'gauge', 'ip_family table', 'I'],
  ['iptables_ct_state_invalid_dropped_packets_total', 'counter', '', 'I'],
  ['iptables_localhost_nodeports_accepted_packets_total', 'counter', '', 'I'],
  ['sync_proxy_rules_nftables_sync_failures_total', 'counter', 'ip_family', 'N'],
  ['sync_proxy_rules_nftables_cleanup_failures_total', 'counter', 'ip_family', 'N'],
];

/** Of 5.4, those of the API client. */
const REST_CLIENT: readonly Row[] = [
  ['rest_client_requests_total', 'counter', 'code host method', ''],
  ['rest_client_request_duration_seconds', 'histogram', 'host verb', '', D],
  ['rest_client_rate_limiter_duration_seconds', 'histogram', 'host verb', '', D],
  ['rest_client_request_size_bytes', 'histogram', 'host verb', '', S],
  ['rest_client_response_size_bytes', 'histogram', 'host verb', '', S],
  ['rest_client_request_retries_total', 'counter', 'code host verb', ''],
];

/** Uses every metric with labels once, so that it has a series to show. */
function touchAll(metrics: object): void {
  const anyLabels = new Proxy({} as Record<string, string>, { get: () => 'IPv4' });
  for (const metric of Object.values(metrics) as (Metric & { with?: (labels: unknown) => unknown })[]) {
    metric.with?.(anyLabels);
  }
}

function describeFamily(family: MetricFamily): readonly string[] {
  const value = family.series[0]!.value;
  const buckets = typeof value === 'number' ? [] : [value.bounds.join(' ')];
  return [family.name, family.type, family.labelNames.join(' '), ...buckets];
}

const expectedRow = ([name, type, labels, , buckets]: Row, prefix = '') => [
  prefix + name,
  type,
  labels,
  ...(buckets === undefined ? [] : [buckets.split(/\s+/).join(' ')]),
];

const byName = (a: readonly string[], b: readonly string[]) => (a[0]! < b[0]! ? -1 : 1);

describe.each([
  ['iptables', 'I'],
  ['ipvs', 'V'],
  ['nftables', 'N'],
] as const)('%s mode', (mode, letter) => {
  test('has the metrics of kube-proxy: names, types, labels, buckets', async () => {
    const registry = new Registry();
    const metrics = new ProxyMetrics();
    metrics.register(registry, mode);
    if (mode === 'iptables') {
      const source = () => [[{}, 1] as const];
      registerNfacctMetrics(registry, { ctStateInvalidDropped: source, localhostNodePortsAccepted: source });
    }
    touchAll(metrics);
    const families = await registry.gather();
    const expected = UPSTREAM.filter(([, , , modes]) => modes.includes(letter)).map((row) =>
      expectedRow(row, 'kubeproxy_'),
    );
    expect(families.map(describeFamily)).toEqual(expected.toSorted(byName));
    for (const { help } of families) expect(help).toMatch(/^\[ALPHA\] \S/);
  });

  test('shows the unlabelled ones as 0 before their first use, and no others', async () => {
    const registry = new Registry();
    new ProxyMetrics().register(registry, mode);
    const families = await registry.gather();
    expect(families.map(({ name, series }) => [name, series[0]!.value])).toEqual(
      UPSTREAM.filter(([name, , labels]) => labels === '' && !name.startsWith('iptables_'))
        .map(([name]) => [`kubeproxy_${name}`, 0])
        .toSorted(),
    );
  });
});

test('userspace mode has the metrics that do not depend on the mode', () => {
  const registry = new Registry();
  new ProxyMetrics().register(registry, 'userspace');
  const common = UPSTREAM.filter(([, , , modes]) => modes === 'IVN').map(([name]) => `kubeproxy_${name}`);
  expect(registry.names()).toEqual(expect.arrayContaining(common));
  expect(registry.names().filter((name) => /iptables|nftables/.test(name))).toEqual([]);
});

test('every metric of kube-proxy can be reached through a handle', () => {
  const handles = (Object.values(new ProxyMetrics()) as Metric[]).map(({ name }) => name);
  const expected = UPSTREAM.filter(([name]) => !name.startsWith('iptables_')).map(
    ([name]) => `kubeproxy_${name}`,
  );
  expect(handles.toSorted()).toEqual(expected.toSorted());
});

test('metrics of the API client are those of client-go', async () => {
  const registry = new Registry();
  const metrics = new RestClientMetrics();
  metrics.register(registry);
  touchAll(metrics);
  expect((await registry.gather()).map(describeFamily)).toEqual(
    REST_CLIENT.map((row) => expectedRow(row)).toSorted(byName),
  );
});

test('observations of the two families are kept apart', () => {
  const metrics = new ProxyMetrics();
  metrics.syncProxyRulesDuration.observe({ ip_family: 'IPv4' }, 0.3);
  metrics.syncProxyRulesDuration.observe({ ip_family: 'IPv6' }, 20);
  expect(metrics.syncProxyRulesDuration).toBeInstanceOf(HistogramVec);
  const [v4, v6] = metrics.syncProxyRulesDuration.collect().series;
  expect(v4!.labelValues).toEqual(['IPv4']);
  expect((v4!.value as { sum: number }).sum).toBe(0.3);
  expect((v6!.value as { counts: ArrayLike<number> }).counts[15]).toBe(1);
});

test('build info and feature gates', async () => {
  const registry = new Registry();
  registerBuildInfo(registry, {
    major: '1',
    minor: '36',
    gitVersion: 'v1.36.2+fairlead.0.1.0',
    gitCommit: 'abc',
    gitTreeState: 'clean',
    buildDate: '2026-05-01T10:00:00Z',
    goVersion: 'node v26.10.0',
    compiler: 'v8',
    platform: 'linux/amd64',
  });
  registerFeatureGates(registry, [
    { name: 'B', stage: '', enabled: true },
    { name: 'A', stage: 'ALPHA', enabled: false },
  ]);
  const [build, gates] = await registry.gather();
  expect(build!.labelNames).toEqual(
    'build_date compiler git_commit git_tree_state git_version go_version major minor platform'.split(' '),
  );
  expect(build!.series[0]!.value).toBe(1);
  expect(gates!.series).toEqual([
    { labelValues: ['A', 'ALPHA'], value: 0 },
    { labelValues: ['B', ''], value: 1 },
  ]);
});

test('process metrics tell the truth', async () => {
  const registry = new Registry();
  const startTime = await readProcessStartTime();
  registerProcessMetrics(registry, startTime);
  const values = new Map(
    (await registry.gather()).map(({ name, series }) => [name, series[0]!.value as number]),
  );
  expect([...values.keys()]).toEqual([
    'process_cpu_seconds_total',
    'process_max_fds',
    'process_open_fds',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
    'process_virtual_memory_bytes',
    'process_virtual_memory_max_bytes',
  ]);
  expect(Math.abs(Date.now() / 1000 - process.uptime() - startTime)).toBeLessThan(2);
  expect(values.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(values.get('process_open_fds')).toBeGreaterThan(3);
  expect(values.get('process_max_fds')).toBeGreaterThanOrEqual(values.get('process_open_fds')!);
  expect(values.get('process_virtual_memory_bytes')).toBeGreaterThan(
    values.get('process_resident_memory_bytes')!,
  );
});

test('objects set aside are counted in full and named up to a bound', async () => {
  const registry = new Registry();
  const metrics = new FairleadMetrics();
  metrics.register(registry);
  const broken = Array.from({ length: 250 }, (_, i) => ({
    kind: 'Service',
    namespace: 'ns',
    name: `svc-${String(i).padStart(3, '0')}`,
    reason: 'NAME_TOO_LONG',
  }));
  metrics.setAside.addSource(() => broken);
  const remove = metrics.setAside.addSource(() => [broken[0]!, { ...broken[0]!, kind: 'Node', name: 'n' }]);
  const family = async (name: string) =>
    (await registry.gather()).find((found) => found.name === name)!.series;
  expect(await family('fairlead_set_aside_objects')).toEqual([
    { labelValues: ['EndpointSlice'], value: 0 },
    { labelValues: ['Node'], value: 1 },
    { labelValues: ['Service'], value: 250 },
  ]);
  expect((await family('fairlead_set_aside_object')).length).toBe(MAX_NAMED_OBJECTS);
  remove();
  const named = await family('fairlead_set_aside_object');
  expect(named[0]).toEqual({ labelValues: ['Service', 'svc-000', 'ns', 'NAME_TOO_LONG'], value: 1 });
});

test('health check outcomes of the metrics port', async () => {
  const slis = new SliMetrics(1_777_629_600);
  const names = async () =>
    (await slis.registry.gather()).map(({ name, series }) => [name, series[0]!.value]);
  expect(await names()).toEqual([['process_start_time_seconds', 1_777_629_600]]);
  slis.notePing();
  slis.notePing();
  expect(await names()).toEqual([
    ['kubernetes_healthcheck', 1],
    ['kubernetes_healthchecks_total', 2],
    ['process_start_time_seconds', 1_777_629_600],
  ]);
  slis.reset();
  expect(await names()).toEqual([['process_start_time_seconds', 1_777_629_600]]);
});
