/** Random choices that a seed repeats. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0 and below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** An integer from `least` up to and including `most`. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)]!;
  }

  /** Up to `most` different items, in random order. */
  some<T>(items: readonly T[], most: number): T[] {
    const left = [...items];
    const taken: T[] = [];
    while (taken.length < most && left.length > 0)
      taken.push(...left.splice(this.integer(0, left.length - 1), 1));
    return taken;
  }

  /** One of several values, each as likely as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      at -= weight;
      if (at < 0) return value;
    }
    return choices.at(-1)![1];
  }
}
