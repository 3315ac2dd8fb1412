import { LabelIndex, type Labels } from './label-index.ts';
import type { HistogramValue, Metric, MetricFamily, MetricOptions } from './metric-family.ts';

/** The distribution of one measured thing over fixed buckets. */
export class HistogramSeries implements HistogramValue {
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Adds `times` observations of the same value. A bucket takes the values up to and including its bound. */
  observe(value: number, times = 1): void {
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= this.bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    this.counts[low]! += times;
    this.sum += value * times;
  }
}

/** A histogram per combination of label values. */
export class HistogramVec<Label extends string> implements Metric {
  readonly name: string;
  readonly help: string;
  readonly #index: LabelIndex<Label, HistogramSeries>;

  /** Throws RangeError when the bounds do not ascend. */
  constructor(
    options: MetricOptions<Label> & {
      readonly labels: readonly Label[];
      readonly buckets: readonly number[];
    },
  ) {
    const { name, help, labels, buckets } = options;
    for (const [i, bound] of buckets.entries()) {
      if (!(i === 0 || bound > buckets[i - 1]!))
        throw new RangeError(`${name}: bucket ${bound} is not above the one before`);
    }
    this.name = name;
    this.help = help;
    this.#index = new LabelIndex(labels, () => new HistogramSeries(buckets));
  }

  observe(labels: Labels<Label>, value: number, times = 1): void {
    this.#index.get(labels).observe(value, times);
  }

  /** The series itself, to be kept where it is used often. */
  with(labels: Labels<Label>): HistogramSeries {
    return this.#index.get(labels);
  }

  collect(): MetricFamily {
    const { name, help } = this;
    return {
      name,
      help,
      type: 'histogram',
      labelNames: this.#index.names,
      series: this.#index.series((item) => item),
    };
  }
}

/** `count` bounds, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => start * factor ** i);
}

/** `count` bounds, each `width` above the one before. */
export function linearBuckets(start: number, width: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => start + width * i);
}
