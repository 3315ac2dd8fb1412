import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyHealth } from '../health/proxy-health.ts';
import type { ServiceHealthServer } from '../health/service-health-server.ts';
import type { FairleadMetrics } from '../metrics/fairlead-metrics.ts';
import type { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import type { FamilySync } from '../sync/family-sync.ts';
import type { CompletedSync, SyncObserver } from '../sync/sync-observer.ts';
import type { ConntrackCleaner } from './conntrack-cleaner.ts';
import { NoLocalEndpoints } from './no-local-endpoints.ts';

export interface SyncEffectsDependencies {
  readonly metrics: ProxyMetrics;
  readonly ownMetrics: FairleadMetrics;
  readonly health: ProxyHealth;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What belongs to one family, for the work after its syncs. */
export interface FamilyParts {
  readonly sync: FamilySync;
  readonly serviceHealth: ServiceHealthServer;
  readonly conntrack: ConntrackCleaner | undefined;
  /** Called when a sync begins. */
  readonly onStarted: () => void;
  /** Called once, after the first sync that ended well. */
  readonly onFirstSync: () => void;
}

/**
 * What follows from a sync besides packet rules, in upstream's order (operations 6.4): latency metric, gauges, health,
 * health check ports, conntrack.
 */
export class SyncEffects implements SyncObserver {
  readonly #metrics: ProxyMetrics;
  readonly #ownMetrics: FairleadMetrics;
  readonly #health: ProxyHealth;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #noLocalEndpoints = new Map<IpFamily, NoLocalEndpoints>();
  readonly #families = new Map<IpFamily, FamilyParts>();
  readonly #synced = new Set<IpFamily>();

  constructor(dependencies: SyncEffectsDependencies) {
    this.#metrics = dependencies.metrics;
    this.#ownMetrics = dependencies.ownMetrics;
    this.#health = dependencies.health;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
  }

  /** Enters a family; its syncs have no after-work before. */
  add(family: IpFamily, parts: FamilyParts): void {
    this.#families.set(family, parts);
  }

  /** The sync loop of this family begins. */
  loopStarted(family: IpFamily): void {
    this.#health.updated(family);
    this.#noteQueued(family);
  }

  serviceChanged(_family: IpFamily, pending: number): void {
    this.#metrics.serviceChangesTotal.inc();
    this.#metrics.serviceChangesPending.set(pending);
  }

  endpointsChanged(_family: IpFamily, pending: number): void {
    this.#metrics.endpointChangesTotal.inc();
    this.#metrics.endpointChangesPending.set(pending);
  }

  queued(family: IpFamily): void {
    this.#health.queuedUpdate(family);
    this.#noteQueued(family);
  }

  started(family: IpFamily): void {
    this.#families.get(family)?.onStarted();
    this.#metrics.serviceChangesPending.set(0);
    this.#metrics.endpointChangesPending.set(0);
  }

  completed(sync: CompletedSync): void {
    const { family, full, milliseconds } = sync;
    const labels = { ip_family: family };
    this.#measure(family, full, milliseconds);
    for (const phase of ['wait', 'plan', 'apply'] as const)
      this.#ownMetrics.syncPhaseDuration.observe({ phase, ip_family: family }, sync.phases[phase] / 1000);
    const now = this.#clock.now();
    for (const times of sync.triggerTimes.values()) {
      for (const time of times) this.#metrics.networkProgrammingDuration.observe(labels, (now - time) / 1000);
    }
    for (const { seconds, count } of sync.delays)
      this.#ownMetrics.apiToKernelDuration.observe(labels, seconds, count);
    this.#countNoLocalEndpoints(sync);
    this.#health.updated(family);
    this.#metrics.syncProxyRulesLastTimestamp.set(labels, now / 1000);
    const parts = this.#families.get(family);
    if (parts === undefined) return;
    if (!this.#synced.has(family)) {
      this.#synced.add(family);
      parts.onFirstSync();
    }
    const checks = parts.sync.healthChecks();
    void parts.serviceHealth.sync(
      new Map([...checks].map(([service, { port }]) => [service, port])),
      new Map([...checks].map(([service, { localReady }]) => [service, localReady])),
    );
    parts.conntrack?.synced(sync);
  }

  failed(family: IpFamily, full: boolean, milliseconds: number, error: unknown): void {
    const labels = { ip_family: family };
    this.#measure(family, full, milliseconds);
    this.#metrics.nftablesSyncFailures.inc(labels);
    this.#logger.error('Sync failed', error, { ipFamily: family, full });
  }

  #noteQueued(family: IpFamily): void {
    this.#metrics.syncProxyRulesLastQueuedTimestamp.set({ ip_family: family }, this.#clock.now() / 1000);
  }

  /** Counts a sync that has ended, well or not. */
  #measure(family: IpFamily, full: boolean, milliseconds: number): void {
    const { syncProxyRulesDuration, syncFullProxyRulesDuration, syncPartialProxyRulesDuration } =
      this.#metrics;
    const byKind = full ? syncFullProxyRulesDuration : syncPartialProxyRulesDuration;
    for (const histogram of [syncProxyRulesDuration, byKind])
      histogram.observe({ ip_family: family }, milliseconds / 1000);
  }

  #countNoLocalEndpoints({ family, plan, changes }: CompletedSync): void {
    let counts = this.#noLocalEndpoints.get(family);
    if (counts === undefined) {
      counts = new NoLocalEndpoints();
      this.#noLocalEndpoints.set(family, counts);
    }
    counts.update(plan, changes);
    this.#metrics.noLocalEndpoints.set({ traffic_policy: 'internal', ip_family: family }, counts.internal);
    this.#metrics.noLocalEndpoints.set({ traffic_policy: 'external', ip_family: family }, counts.external);
  }
}
