import { LabelIndex, type Labels } from './label-index.ts';
import type { Metric, MetricFamily, MetricOptions } from './metric-family.ts';

/** One counted thing: it only goes up. */
export class CounterSeries {
  value = 0;

  /** Throws RangeError for a negative or undefined amount. */
  inc(by = 1): void {
    if (!(by >= 0)) throw new RangeError(`a counter cannot grow by ${by}`);
    this.value += by;
  }
}

/** A counter without labels; exposed as 0 before its first use. */
export class Counter extends CounterSeries implements Metric {
  readonly name: string;
  readonly help: string;

  constructor(options: MetricOptions) {
    super();
    this.name = options.name;
    this.help = options.help;
  }

  collect(): MetricFamily {
    const series = [{ labelValues: [], value: this.value }];
    return { name: this.name, help: this.help, type: 'counter', labelNames: [], series };
  }
}

/** A counter per combination of label values. */
export class CounterVec<Label extends string> implements Metric {
  readonly name: string;
  readonly help: string;
  readonly #index: LabelIndex<Label, CounterSeries>;

  constructor(options: MetricOptions<Label> & { readonly labels: readonly Label[] }) {
    this.name = options.name;
    this.help = options.help;
    this.#index = new LabelIndex(options.labels, () => new CounterSeries());
  }

  inc(labels: Labels<Label>, by = 1): void {
    this.#index.get(labels).inc(by);
  }

  /** The series itself, to be kept where it is used often. */
  with(labels: Labels<Label>): CounterSeries {
    return this.#index.get(labels);
  }

  clear(): void {
    this.#index.clear();
  }

  collect(): MetricFamily {
    const { name, help } = this;
    return {
      name,
      help,
      type: 'counter',
      labelNames: this.#index.names,
      series: this.#index.series((item) => item.value),
    };
  }
}
