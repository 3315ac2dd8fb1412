import type { IpFamily } from '../base/ip.ts';
import type { Series } from './metric-family.ts';

/** A value for each label of a metric. `ip_family` takes only the spellings that kube-proxy uses. */
export type Labels<Label extends string> = {
  readonly [Name in Label]: Name extends 'ip_family' ? IpFamily : string;
};

type Level<Item> = Map<string, Level<Item> | Item>;

/**
 * The series of a metric by the values of its labels: a map per label, so that finding one costs a look-up per label
 * and builds no string.
 */
export class LabelIndex<Label extends string, Item extends object> {
  readonly names: readonly Label[];
  readonly #create: () => Item;
  readonly #root: Level<Item> = new Map();

  /** @param names at least one. */
  constructor(names: readonly Label[], create: () => Item) {
    this.names = names;
    this.#create = create;
  }

  /** The series with these label values, created at first use. */
  get(labels: Labels<Label>): Item {
    const last = this.names.length - 1;
    let level = this.#root;
    for (let i = 0; i < last; i++) {
      const value = labels[this.names[i]!];
      let next = level.get(value) as Level<Item> | undefined;
      if (next === undefined) {
        next = new Map();
        level.set(value, next);
      }
      level = next;
    }
    const value = labels[this.names[last]!];
    let item = level.get(value) as Item | undefined;
    if (item === undefined) {
      item = this.#create();
      level.set(value, item);
    }
    return item;
  }

  /** Forgets a series; harmless when there is none. */
  delete(labels: Labels<Label>): void {
    const path: { level: Level<Item>; value: string }[] = [];
    let level: Level<Item> | undefined = this.#root;
    for (const name of this.names) {
      if (level === undefined) return;
      path.push({ level, value: labels[name] });
      level = level.get(labels[name]) as Level<Item> | undefined;
    }
    for (const step of path.reverse()) {
      step.level.delete(step.value);
      if (step.level.size > 0) break;
    }
  }

  /** Forgets all series. */
  clear(): void {
    this.#root.clear();
  }

  /** All series, in no particular order. */
  series(read: (item: Item) => Series['value']): Series[] {
    const found: Series[] = [];
    const walk = (level: Level<Item>, values: readonly string[]) => {
      for (const [value, next] of level) {
        const labelValues = [...values, value];
        if (labelValues.length < this.names.length) walk(next as Level<Item>, labelValues);
        else found.push({ labelValues, value: read(next as Item) });
      }
    };
    walk(this.#root, []);
    return found;
  }
}
