import { CounterVec } from './counter.ts';
import { HistogramVec } from './histogram.ts';
import type { Registry } from './registry.ts';
import { ScrapeMetric } from './scrape-metric.ts';
import { SetAsideMetrics } from './set-aside-metrics.ts';

/** 5 ms to 10 min: a sync that hangs must not vanish in the last, unbounded bucket. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** What kube-proxy does not tell: is the kernel up to date, is the API server heard, is an object being skipped. */
export class FairleadMetrics {
  /** Sources report an age per family, and nothing or 0 while the kernel is up to date. */
  readonly oldestChangeAge = new ScrapeMetric({
    name: 'fairlead_oldest_unapplied_change_age_seconds',
    help: 'Age of the oldest change received from the API server that is not in the kernel; 0 when there is none',
    type: 'gauge',
    labels: ['ip_family'],
  });
  /** Sources report an age per resource, and nothing before the first contact. */
  readonly apiContactAge = new ScrapeMetric({
    name: 'fairlead_api_contact_age_seconds',
    help: 'Time since the API server was last heard, bookmarks and errors included',
    type: 'gauge',
    labels: ['resource'],
  });
  readonly apiToKernelDuration = new HistogramVec({
    name: 'fairlead_api_to_kernel_duration_seconds',
    help: 'Time from the arrival of a change from the API server to its place in the kernel, waiting included',
    labels: ['ip_family'],
    buckets: LATENCY_BUCKETS,
  });
  readonly syncPhaseDuration = new HistogramVec({
    name: 'fairlead_sync_phase_duration_seconds',
    help: 'Time a sync spent in each phase: wait (from the request to the start), plan, apply',
    labels: ['phase', 'ip_family'],
    buckets: LATENCY_BUCKETS,
  });
  readonly setAside = new SetAsideMetrics();
  readonly foreignEditsRepaired = new CounterVec({
    name: 'fairlead_foreign_edits_repaired_total',
    help: 'Times that kernel objects of ours were found changed by someone else and put right',
    labels: ['ip_family'],
  });

  register(registry: Registry): void {
    registry.register(
      this.oldestChangeAge,
      this.apiContactAge,
      this.apiToKernelDuration,
      this.syncPhaseDuration,
      this.setAside.count,
      this.setAside.objects,
      this.foreignEditsRepaired,
    );
  }
}
