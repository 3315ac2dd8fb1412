import { Counter, CounterVec } from './counter.ts';
import { Gauge, GaugeVec } from './gauge.ts';
import { exponentialBuckets, HistogramVec, linearBuckets } from './histogram.ts';
import type { Metric, MetricOptions } from './metric-family.ts';
import type { Registry } from './registry.ts';
import { type SampleSource, ScrapeMetric } from './scrape-metric.ts';

/** The modes, as the metrics tell them apart. */
export type MetricsMode = 'iptables' | 'ipvs' | 'nftables' | 'userspace';

/** 1 ms to 16.384 s, doubling. */
const SYNC_BUCKETS = exponentialBuckets(0.001, 2, 15);

/** The buckets of the network programming latency SLI: 0.25 s to 5 min. */
const LATENCY_BUCKETS = [
  0.25,
  0.5,
  ...linearBuckets(1, 1, 59),
  ...linearBuckets(60, 5, 12),
  ...linearBuckets(120, 30, 7),
];

const FAMILY = ['ip_family'] as const;

/**
 * The metrics of kube-proxy by the names, labels and buckets it gives them (operations 5.2), so that dashboards and alerts go
 * on working. Which of them are exposed depends on the mode: see {@link ProxyMetrics.register}.
 */
export class ProxyMetrics {
  readonly syncProxyRulesDuration = new HistogramVec({
    ...kubeproxy(
      'sync_proxy_rules_duration_seconds',
      'Time one sync took, in seconds, whether it succeeded or not',
    ),
    labels: FAMILY,
    buckets: SYNC_BUCKETS,
  });
  readonly syncFullProxyRulesDuration = new HistogramVec({
    ...kubeproxy('sync_full_proxy_rules_duration_seconds', 'Time one full sync took, in seconds'),
    labels: FAMILY,
    buckets: SYNC_BUCKETS,
  });
  readonly syncPartialProxyRulesDuration = new HistogramVec({
    ...kubeproxy('sync_partial_proxy_rules_duration_seconds', 'Time one partial sync took, in seconds'),
    labels: FAMILY,
    buckets: SYNC_BUCKETS,
  });
  readonly syncProxyRulesLastTimestamp = new GaugeVec({
    ...kubeproxy('sync_proxy_rules_last_timestamp_seconds', 'Unix time of the last successful sync'),
    labels: FAMILY,
  });
  readonly syncProxyRulesLastQueuedTimestamp = new GaugeVec({
    ...kubeproxy(
      'sync_proxy_rules_last_queued_timestamp_seconds',
      'Unix time at which a sync was last asked for',
    ),
    labels: FAMILY,
  });
  readonly networkProgrammingDuration = new HistogramVec({
    ...kubeproxy(
      'network_programming_duration_seconds',
      'Time from a change of a Pod or Service to the kernel, in seconds, by the trigger times of EndpointSlices',
    ),
    labels: FAMILY,
    buckets: LATENCY_BUCKETS,
  });
  readonly endpointChangesPending = new Gauge(
    kubeproxy(
      'sync_proxy_rules_endpoint_changes_pending',
      'Changes of EndpointSlices that no sync has taken yet',
    ),
  );
  readonly endpointChangesTotal = new Counter(
    kubeproxy('sync_proxy_rules_endpoint_changes_total', 'EndpointSlice events received'),
  );
  readonly serviceChangesPending = new Gauge(
    kubeproxy(
      'sync_proxy_rules_service_changes_pending',
      'Services with a change that no sync has taken yet',
    ),
  );
  readonly serviceChangesTotal = new Counter(
    kubeproxy(
      'sync_proxy_rules_service_changes_total',
      'Service events received, counted once per IP family',
    ),
  );
  readonly noLocalEndpoints = new GaugeVec({
    ...kubeproxy(
      'sync_proxy_rules_no_local_endpoints_total',
      'Service ports with traffic policy Local that have endpoints, but none on this node',
    ),
    labels: ['traffic_policy', 'ip_family'],
  });
  readonly healthz = new CounterVec({
    ...kubeproxy('proxy_healthz_total', 'Answers given on /healthz, by HTTP status code'),
    labels: ['code'],
  });
  readonly livez = new CounterVec({
    ...kubeproxy('proxy_livez_total', 'Answers given on /livez, by HTTP status code'),
    labels: ['code'],
  });
  readonly conntrackReconcilerSyncDuration = new HistogramVec({
    ...kubeproxy(
      'conntrack_reconciler_sync_duration_seconds',
      'Time one clean-up of conntrack entries took, in seconds',
    ),
    labels: FAMILY,
    buckets: SYNC_BUCKETS,
  });
  readonly conntrackReconcilerDeletedEntries = new CounterVec({
    ...kubeproxy('conntrack_reconciler_deleted_entries_total', 'Stale conntrack entries deleted'),
    labels: FAMILY,
  });
  readonly iptablesRestoreFailures = new CounterVec({
    ...kubeproxy('sync_proxy_rules_iptables_restore_failures_total', 'Writes of iptables rules that failed'),
    labels: FAMILY,
  });
  readonly iptablesPartialRestoreFailures = new CounterVec({
    ...kubeproxy(
      'sync_proxy_rules_iptables_partial_restore_failures_total',
      'Partial syncs of iptables rules that failed',
    ),
    labels: FAMILY,
  });
  readonly iptablesRulesTotal = new GaugeVec({
    ...kubeproxy('sync_proxy_rules_iptables_total', 'iptables rules owned, by table'),
    labels: ['table', 'ip_family'],
  });
  readonly iptablesRulesLastSync = new GaugeVec({
    ...kubeproxy('sync_proxy_rules_iptables_last', 'iptables rules written by the last sync, by table'),
    labels: ['table', 'ip_family'],
  });
  readonly nftablesSyncFailures = new CounterVec({
    ...kubeproxy('sync_proxy_rules_nftables_sync_failures_total', 'Syncs of nftables rules that failed'),
    labels: FAMILY,
  });
  readonly nftablesCleanupFailures = new CounterVec({
    ...kubeproxy(
      'sync_proxy_rules_nftables_cleanup_failures_total',
      'Deletions of stale nftables chains that failed',
    ),
    labels: FAMILY,
  });

  /** Makes the metrics of a mode visible. To be called once per registry. */
  register(registry: Registry, mode: MetricsMode): void {
    registry.register(...this.#common());
    if (mode !== 'ipvs' && mode !== 'userspace') {
      registry.register(this.syncFullProxyRulesDuration, this.syncPartialProxyRulesDuration);
    }
    if (mode === 'iptables' || mode === 'ipvs') registry.register(this.iptablesRestoreFailures);
    if (mode === 'iptables') {
      registry.register(
        this.iptablesPartialRestoreFailures,
        this.iptablesRulesTotal,
        this.iptablesRulesLastSync,
      );
    }
    if (mode === 'nftables') registry.register(this.nftablesSyncFailures, this.nftablesCleanupFailures);
  }

  #common(): readonly Metric[] {
    return [
      this.syncProxyRulesDuration,
      this.syncProxyRulesLastTimestamp,
      this.syncProxyRulesLastQueuedTimestamp,
      this.networkProgrammingDuration,
      this.endpointChangesPending,
      this.endpointChangesTotal,
      this.serviceChangesPending,
      this.serviceChangesTotal,
      this.noLocalEndpoints,
      this.healthz,
      this.livez,
      this.conntrackReconcilerSyncDuration,
      this.conntrackReconcilerDeletedEntries,
    ];
  }
}

/**
 * The two packet counters of iptables mode, read from the kernel's nfacct objects at each scrape; for kernels that have
 * nfacct only. A source that fails or reports nothing leaves its metric out.
 */
export function registerNfacctMetrics(
  registry: Registry,
  sources: {
    readonly ctStateInvalidDropped: SampleSource<never>;
    readonly localhostNodePortsAccepted: SampleSource<never>;
  },
): void {
  const dropped = kubeproxy(
    'iptables_ct_state_invalid_dropped_packets_total',
    'Packets dropped because conntrack found their state invalid',
  );
  const accepted = kubeproxy(
    'iptables_localhost_nodeports_accepted_packets_total',
    'Packets accepted on NodePorts of the loopback address',
  );
  registry.register(
    new ScrapeMetric({ ...dropped, type: 'counter' }, sources.ctStateInvalidDropped),
    new ScrapeMetric({ ...accepted, type: 'counter' }, sources.localhostNodePortsAccepted),
  );
}

function kubeproxy(name: string, help: string): MetricOptions {
  return { name: `kubeproxy_${name}`, help: `[ALPHA] ${help}` };
}
