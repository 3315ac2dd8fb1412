/** What a scrape sees of one metric, in the terms of the Prometheus exposition formats. Plain data. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Names of the labels, in the order in which each series lists its values. */
  readonly labelNames: readonly string[];
  readonly series: readonly Series[];
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

export interface Series {
  readonly labelValues: readonly string[];
  /** A number for counters and gauges. */
  readonly value: number | HistogramValue;
}

export interface HistogramValue {
  /** Upper bounds of the buckets, ascending, without the last, unbounded one. */
  readonly bounds: readonly number[];
  /** Observations per bucket, not cumulative; one more than bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** Something a registry can expose. */
export interface Metric {
  readonly name: string;
  /**
   * The present values. A family without series is not shown, so a metric with labels stays hidden until its first use,
   * as Go's client does.
   */
  collect(): MetricFamily | Promise<MetricFamily>;
}

/** What every metric is declared with. */
export interface MetricOptions<Label extends string = never> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}
