import type { PlanDiff, ProxyPlan, ServicePortChange, ServicePortPlan } from '../../plan/proxy-plan.ts';

/** The ServicePorts that the last sync which ended well left in the kernel: tells what a full sync took away. */
export class ProgrammedServicePorts {
  #known = new Map<string, ServicePortPlan>();

  /**
   * Takes a sync over and returns what it may have changed: for a full one, which does not know (`changes` is
   * undefined), that is every ServicePort before and after it.
   */
  update({ servicePorts }: ProxyPlan, changes: PlanDiff | undefined): PlanDiff {
    if (changes !== undefined) {
      for (const { before, after } of changes) {
        if (after !== undefined) this.#known.set(after.key, after);
        else if (before !== undefined) this.#known.delete(before.key);
      }
      return changes;
    }
    const all: ServicePortChange[] = [];
    for (const [key, before] of this.#known) {
      if (!servicePorts.has(key)) all.push({ before, after: undefined });
    }
    for (const [key, after] of servicePorts) all.push({ before: this.#known.get(key), after });
    this.#known = new Map(servicePorts);
    return all;
  }
}
