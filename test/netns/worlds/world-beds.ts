import type { Variant } from '../replay/exceptions.ts';
import { FairleadProcess } from '../replay/fairlead-process.ts';
import { modeOf } from '../replay/replay-pool.ts';
import { SCENARIO_DIRECTORY } from '../replay/scenario.ts';
import { Testbed } from '../testbed/testbed.ts';
import { loadTopology } from '../testbed/topology.ts';
import { runWorld, type WorldOptions, type WorldResult } from './world-run.ts';

interface Slot {
  readonly bed: Testbed;
  readonly proxy: FairleadProcess;
}

/** One test bed with a stopped proxy for each variant. */
export class WorldBeds {
  readonly #slots: ReadonlyMap<Variant, Slot>;

  private constructor(slots: ReadonlyMap<Variant, Slot>) {
    this.#slots = slots;
  }

  /** Builds the test beds; when one fails the others are removed again. */
  static async create(variants: readonly Variant[]): Promise<WorldBeds> {
    const topology = loadTopology(new URL('topology.json', SCENARIO_DIRECTORY));
    const slots = new Map<Variant, Slot>();
    const beds = new WorldBeds(slots);
    try {
      for (const variant of variants) {
        const bed = await Testbed.create(topology);
        const iptablesBackend = variant === 'iptables-legacy' ? 'legacy' : 'nft';
        slots.set(variant, { bed, proxy: new FairleadProcess(bed.fullName('node1'), { iptablesBackend }) });
      }
      return beds;
    } catch (error) {
      await beds.close();
      throw error;
    }
  }

  /** Follows a world in the test bed of a variant, which nothing else may use meanwhile. */
  async run(variant: Variant, options: Omit<WorldOptions, 'mode'>): Promise<WorldResult> {
    const slot = this.#slots.get(variant);
    if (slot === undefined) throw new RangeError(`no test bed for ${variant}`);
    return runWorld(slot.bed, slot.proxy, { ...options, mode: modeOf(variant) });
  }

  /** Stops the proxies and removes the test beds. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#slots.values()].map(({ bed, proxy }) => proxy.close().finally(() => bed.close())),
    );
  }
}
