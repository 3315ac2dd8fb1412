import { expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { ProxyHealth } from '../health/proxy-health.ts';
import { FairleadMetrics } from '../metrics/fairlead-metrics.ts';
import type { HistogramVec } from '../metrics/histogram.ts';
import { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { settings } from '../plan/testing/settings.ts';
import { FamilySync } from '../sync/family-sync.ts';
import { familySinks } from './family-sinks.ts';
import { SyncEffects } from './sync-effects.ts';

/** A loop whose syncs take as long as the test says. */
function setup() {
  const clock = new FakeClock();
  const metrics = new ProxyMetrics();
  const ownMetrics = new FairleadMetrics();
  const health = new ProxyHealth({ syncPeriod: 30_000 }, { clock });
  const observer = new SyncEffects({ metrics, ownMetrics, health, clock, logger: silentLogger });
  const takes: (number | Error)[] = [];
  const sync = new FamilySync(
    { settings: settings(), intervals: { min: 1000, retry: 30_000, max: 3_600_000 } },
    {
      proxier: {
        sync: () =>
          new Promise((resolve, reject) => {
            const take = takes.shift() ?? 0;
            if (take instanceof Error) clock.schedule(0, () => reject(take));
            else clock.schedule(take, () => resolve({ operations: 1 }));
          }),
        close() {},
      },
      observer,
      reportProblem: () => {},
      reportLostFrontend: () => {},
      clock,
      logger: silentLogger,
    },
  );
  sync.servicesSynced();
  sync.endpointSlicesSynced();
  void sync.start(new AbortController().signal);
  return { clock, sync, takes, metrics, ownMetrics, observer };
}

/** Number of observations by upper bound of their bucket. */
function bucketsOf(histogram: HistogramVec<'ip_family'>): Record<string, number> {
  const { bounds, counts } = histogram.with({ ip_family: 'IPv4' });
  const entries = [...counts].map((count, index) => [String(bounds[index] ?? 'Infinity'), count] as const);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}

test('the time from API to kernel tells syncs of 20 ms, 2 s and 90 s apart, none of them unbounded (C127)', async () => {
  const { clock, sync, takes, ownMetrics } = setup();
  await clock.advance(5000);
  for (const [index, duration] of [20, 2000, 90_000].entries()) {
    takes.push(duration);
    sync.setService(service({ name: `s${index}` }));
    await clock.advance(duration + 5000);
  }
  expect(bucketsOf(ownMetrics.apiToKernelDuration)).toEqual({ '0.025': 1, '2.5': 1, '120': 1 });
});

test('changes that queue up behind a long sync count with their wait (C127)', async () => {
  const { clock, sync, takes, metrics, ownMetrics } = setup();
  await clock.advance(5000);
  takes.push(90_000, 0);
  sync.setService(service({ name: 'first' }));
  await clock.advance(10_000);
  for (let i = 0; i < 100; i++) sync.setService(service({ name: `s${i}` }));
  await clock.advance(90_000);
  // 80 s until the long sync ends, and a second between two syncs.
  expect(bucketsOf(ownMetrics.apiToKernelDuration)).toEqual({ '120': 101 });
  expect(ownMetrics.apiToKernelDuration.with({ ip_family: 'IPv4' }).sum).toBeCloseTo(90 + 100 * 81, 3);
  const phase = (name: string) => ownMetrics.syncPhaseDuration.with({ phase: name, ip_family: 'IPv4' });
  expect(phase('wait').sum).toBeCloseTo(81, 3);
  expect(phase('apply').sum).toBeCloseTo(90, 3);
  // The duration of kube-proxy's name is that of the sync alone, with kube-proxy's buckets.
  expect(bucketsOf(metrics.syncProxyRulesDuration)).toEqual({ '0.001': 2, Infinity: 1 });
});

test('a sync that fails counts in the durations of its kind as well', async () => {
  const { clock, sync, takes, metrics } = setup();
  await clock.advance(5000);
  const counts = () =>
    [
      metrics.syncProxyRulesDuration,
      metrics.syncFullProxyRulesDuration,
      metrics.syncPartialProxyRulesDuration,
    ].map((histogram) => Object.values(bucketsOf(histogram)).reduce((sum, count) => sum + count, 0));
  expect(counts()).toEqual([1, 1, 0]);
  // The partial sync fails, and so does the full one that follows at once.
  takes.push(new Error('refused'), new Error('refused'));
  sync.setService(service({ name: 'first' }));
  await clock.advance(5000);
  expect(counts()).toEqual([3, 2, 1]);
  await clock.advance(30_000);
  expect(counts()).toEqual([4, 3, 1]);
});

test('a loop that begins counts as asked for, whether or not there is anything to do yet', async () => {
  const { clock, metrics, observer } = setup();
  await clock.advance(5000);
  observer.loopStarted('IPv6');
  expect(metrics.syncProxyRulesLastQueuedTimestamp.with({ ip_family: 'IPv6' }).value).toBe(
    clock.now() / 1000,
  );
});

test('in dual-stack a slice counts once, for its family; a Service for both', async () => {
  const { clock, metrics, observer } = setup();
  const { promise: never } = Promise.withResolvers<{ operations: number }>();
  const syncs = (['IPv4', 'IPv6'] as const).map(
    (family) =>
      new FamilySync(
        { settings: settings({ family }), intervals: { min: 1000, retry: 30_000, max: 3_600_000 } },
        {
          proxier: { sync: () => never, close() {} },
          observer,
          reportProblem: () => {},
          reportLostFrontend: () => {},
          clock,
          logger: silentLogger,
        },
      ),
  );
  const none = { set() {}, delete() {}, synced() {} };
  const { services, endpointSlices } = familySinks(syncs, none, none, { forget: () => {} });
  const counts = () => [metrics.endpointChangesTotal.value, metrics.endpointChangesPending.value];
  endpointSlices.set(slice({ name: 'four', endpoints: [endpoint('10.0.0.1')] }));
  expect(counts()).toEqual([1, 1]);
  endpointSlices.set(slice({ name: 'four', endpoints: [endpoint('10.0.0.1')] }));
  expect(counts()).toEqual([2, 1]);
  endpointSlices.set(slice({ name: 'six', addressType: 'IPv6', endpoints: [endpoint('fd00::1')] }));
  expect(counts()).toEqual([3, 1]);
  endpointSlices.delete('default', 'six');
  endpointSlices.set(slice({ name: 'another', endpoints: [endpoint('10.0.0.2')] }));
  expect(counts()).toEqual([5, 2]);
  endpointSlices.delete('default', 'four');
  endpointSlices.delete('default', 'nobody knows');
  expect(counts()[0]).toBe(6);
  services.set(service({ name: 'web' }));
  expect(metrics.serviceChangesTotal.value).toBe(2);
});
