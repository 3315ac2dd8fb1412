import { LabelIndex, type Labels } from './label-index.ts';
import type { Metric, MetricFamily, MetricOptions } from './metric-family.ts';

/** One value that goes up and down. */
export class GaugeSeries {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  add(by: number): void {
    this.value += by;
  }
}

/** A gauge without labels; exposed as 0 before its first use. */
export class Gauge extends GaugeSeries implements Metric {
  readonly name: string;
  readonly help: string;

  constructor(options: MetricOptions) {
    super();
    this.name = options.name;
    this.help = options.help;
  }

  collect(): MetricFamily {
    const series = [{ labelValues: [], value: this.value }];
    return { name: this.name, help: this.help, type: 'gauge', labelNames: [], series };
  }
}

/** A gauge per combination of label values. */
export class GaugeVec<Label extends string> implements Metric {
  readonly name: string;
  readonly help: string;
  readonly #index: LabelIndex<Label, GaugeSeries>;

  constructor(options: MetricOptions<Label> & { readonly labels: readonly Label[] }) {
    this.name = options.name;
    this.help = options.help;
    this.#index = new LabelIndex(options.labels, () => new GaugeSeries());
  }

  set(labels: Labels<Label>, value: number): void {
    this.#index.get(labels).set(value);
  }

  /** The series itself, to be kept where it is used often. */
  with(labels: Labels<Label>): GaugeSeries {
    return this.#index.get(labels);
  }

  delete(labels: Labels<Label>): void {
    this.#index.delete(labels);
  }

  clear(): void {
    this.#index.clear();
  }

  collect(): MetricFamily {
    const { name, help } = this;
    return {
      name,
      help,
      type: 'gauge',
      labelNames: this.#index.names,
      series: this.#index.series((item) => item.value),
    };
  }
}
