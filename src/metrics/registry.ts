import { describeError } from '../base/fairlead-error.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import type { Metric, MetricFamily, Series } from './metric-family.ts';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** The metrics that one endpoint exposes. */
export class Registry {
  readonly #metrics = new Map<string, Metric>();
  readonly #logger: Logger;

  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /** Throws RangeError when the name is taken or is no metric name. */
  register(...metrics: readonly Metric[]): void {
    for (const metric of metrics) {
      if (!NAME.test(metric.name)) throw new RangeError(`not a metric name: ${JSON.stringify(metric.name)}`);
      if (this.#metrics.has(metric.name)) throw new RangeError(`metric ${metric.name} is registered already`);
      this.#metrics.set(metric.name, metric);
    }
  }

  /** Names of all metrics, also of those that have no series yet. */
  names(): readonly string[] {
    return [...this.#metrics.keys()].toSorted();
  }

  /**
   * The families that have something to show: sorted by name, labels sorted by name, series by their label values, as
   * Go's client lists them. A metric that cannot be read is logged and left out; the others are not affected.
   */
  async gather(): Promise<readonly MetricFamily[]> {
    const families = await Promise.all([...this.#metrics.values()].map((metric) => this.#collect(metric)));
    return families
      .filter((family) => family !== undefined)
      .filter((family) => family.series.length > 0)
      .map(sortFamily)
      .toSorted((a, b) => compareText(a.name, b.name));
  }

  async #collect(metric: Metric): Promise<MetricFamily | undefined> {
    try {
      return await metric.collect();
    } catch (error) {
      this.#logger.verbose(2, 'Metric left out of a scrape', {
        metric: metric.name,
        err: describeError(error),
      });
      return undefined;
    }
  }
}

function sortFamily(family: MetricFamily): MetricFamily {
  const order = family.labelNames.map((_, i) => i);
  order.sort((a, b) => compareText(family.labelNames[a]!, family.labelNames[b]!));
  const labelNames = order.map((i) => family.labelNames[i]!);
  const series: Series[] = family.series.map(({ labelValues, value }) => ({
    labelValues: order.map((i) => labelValues[i]!),
    value,
  }));
  series.sort((a, b) => {
    for (const [i, text] of a.labelValues.entries()) {
      const difference = compareText(text, b.labelValues[i]!);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  return { ...family, labelNames, series };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
