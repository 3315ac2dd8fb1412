import type { Labels } from './label-index.ts';
import type { Metric, MetricFamily, MetricOptions, Series } from './metric-family.ts';

/** A value for a label combination, as a source reports it. */
export type Sample<Label extends string> = readonly [labels: Labels<Label>, value: number];

/** Reports the samples of the moment. Fails when they cannot be read; the metric is then left out of the scrape. */
export type SampleSource<Label extends string> = () =>
  | Iterable<Sample<Label>>
  | Promise<Iterable<Sample<Label>>>;

/**
 * A metric whose values are asked for at each scrape, so that an age is right at that moment and nothing has to be kept
 * up to date in between. Any number of sources may report; of equal label combinations the last one counts.
 */
export class ScrapeMetric<Label extends string = never> implements Metric {
  readonly name: string;
  readonly help: string;
  readonly #type: 'counter' | 'gauge';
  readonly #labels: readonly Label[];
  readonly #sources = new Set<SampleSource<Label>>();

  constructor(
    options: MetricOptions<Label> & { readonly type: 'counter' | 'gauge' },
    ...sources: SampleSource<Label>[]
  ) {
    this.name = options.name;
    this.help = options.help;
    this.#type = options.type;
    this.#labels = options.labels ?? [];
    for (const source of sources) this.#sources.add(source);
  }

  /** Adds a source; the returned function removes it again. */
  addSource(source: SampleSource<Label>): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  async collect(): Promise<MetricFamily> {
    const series = new Map<string, Series>();
    for (const source of this.#sources) {
      for (const [labels, value] of await source()) {
        const labelValues = this.#labels.map((name) => labels[name]);
        series.set(JSON.stringify(labelValues), { labelValues, value });
      }
    }
    const { name, help } = this;
    return { name, help, type: this.#type, labelNames: this.#labels, series: [...series.values()] };
  }
}
