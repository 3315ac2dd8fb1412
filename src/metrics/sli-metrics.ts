import { CounterVec } from './counter.ts';
import { GaugeVec } from './gauge.ts';
import { Registry } from './registry.ts';
import { ScrapeMetric } from './scrape-metric.ts';

/** The separate registry behind /metrics/slis: the outcome of the health checks of the metrics port (operations 5.4). */
export class SliMetrics {
  readonly registry = new Registry();
  readonly #healthcheck = new GaugeVec({
    name: 'kubernetes_healthcheck',
    help: '[STABLE] Last outcome of a health check: 1 is success',
    labels: ['name', 'type'],
  });
  readonly #healthchecks = new CounterVec({
    name: 'kubernetes_healthchecks_total',
    help: '[STABLE] Outcomes of health checks',
    labels: ['name', 'type', 'status'],
  });

  /** @param startTime of the process, Unix time in seconds. */
  constructor(startTime: number) {
    const options = {
      name: 'process_start_time_seconds',
      help: 'Unix time at which the process started, in seconds.',
      type: 'gauge' as const,
    };
    this.registry.register(
      this.#healthcheck,
      this.#healthchecks,
      new ScrapeMetric(options, () => [[{}, startTime]]),
    );
  }

  /** Notes that the check `ping` was asked for and answered. */
  notePing(): void {
    this.#healthcheck.set({ name: 'ping', type: 'healthz' }, 1);
    this.#healthchecks.inc({ name: 'ping', type: 'healthz', status: 'success' });
  }

  reset(): void {
    this.#healthcheck.clear();
    this.#healthchecks.clear();
  }
}
