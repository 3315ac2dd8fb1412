import type { ProgrammedPort } from './programmed-port.ts';

/** Sums over ServicePorts for the metrics (spec B.6). */
export interface ProgrammedTotals {
  filterRules: number;
  natRules: number;
  endpoints: number;
}

/** The ServicePorts in the kernel, by key. */
export class ProgrammedState {
  readonly #ports = new Map<string, ProgrammedPort>();
  readonly #totals: ProgrammedTotals = {
    filterRules: 0,
    natRules: 0,
    endpoints: 0,
  };
  #sorted: readonly string[] | undefined;

  get totals(): Readonly<ProgrammedTotals> {
    return this.#totals;
  }

  get size(): number {
    return this.#ports.size;
  }

  get(key: string): ProgrammedPort | undefined {
    return this.#ports.get(key);
  }

  /** Replaces, adds or, with `undefined`, removes a ServicePort. */
  set(key: string, port: ProgrammedPort | undefined): void {
    const before = this.#ports.get(key);
    if (before !== undefined) this.#count(before, -1);
    if (port !== undefined) this.#count(port, 1);
    if ((before === undefined) !== (port === undefined)) this.#sorted = undefined;
    if (port === undefined) this.#ports.delete(key);
    else this.#ports.set(key, port);
  }

  /** In the order of keys: the same ServicePorts always give the same text. */
  *inOrder(): Generator<readonly [string, ProgrammedPort]> {
    this.#sorted ??= [...this.#ports.keys()].sort();
    for (const key of this.#sorted) yield [key, this.#ports.get(key)!];
  }

  #count(port: ProgrammedPort, sign: 1 | -1): void {
    for (const key of Object.keys(this.#totals) as (keyof ProgrammedTotals)[])
      this.#totals[key] += sign * port.counts[key];
  }
}
