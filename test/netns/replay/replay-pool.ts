import { Testbed } from '../testbed/testbed.ts';
import { loadTopology } from '../testbed/topology.ts';
import { ApiServerFeed } from './api-server-feed.ts';
import type { Variant } from './exceptions.ts';
import { type FairleadOptions, FairleadProcess } from './fairlead-process.ts';
import { FileFeed } from './file-feed.ts';
import type { ObjectFeed } from './object-feed.ts';
import { replayScenario, type ScenarioResult } from './replay-scenario.ts';
import { type ReplayMode, SCENARIO_DIRECTORY, type Scenario } from './scenario.ts';

/** `files`: a directory of YAML. `apiserver`: watches against the stand-in API server. */
export type FeedKind = 'files' | 'apiserver';

export interface PoolOptions {
  readonly variant: Variant;
  /** Test beds, and so scenarios at the same time. */
  readonly size: number;
  readonly feed?: FeedKind;
  /** A program with kube-proxy's flags in place of `bin/fairlead`. */
  readonly program?: string;
}

interface Slot {
  readonly bed: Testbed;
  readonly proxy: FairleadProcess;
}

/** Test beds with a stopped Fairlead in each, handed to scenarios in turn. */
export class ReplayPool {
  readonly #options: PoolOptions;
  readonly #slots: Slot[];
  readonly #idle: Slot[];
  readonly #waiting: ((slot: Slot) => void)[] = [];

  private constructor(options: PoolOptions, slots: Slot[]) {
    this.#options = options;
    this.#slots = slots;
    this.#idle = [...slots];
  }

  /** Builds the test beds; when one fails the others are removed again. */
  static async create(options: PoolOptions): Promise<ReplayPool> {
    const topology = loadTopology(new URL('topology.json', SCENARIO_DIRECTORY));
    const { program, size, variant } = options;
    const fairlead: FairleadOptions = {
      iptablesBackend: variant === 'iptables-legacy' ? 'legacy' : 'nft',
      ...(program === undefined ? {} : { program }),
    };
    const beds = await Promise.allSettled(Array.from({ length: size }, () => Testbed.create(topology)));
    const slots = beds
      .filter((bed) => bed.status === 'fulfilled')
      .map(({ value: bed }) => ({ bed, proxy: new FairleadProcess(bed.fullName('node1'), fairlead) }));
    const pool = new ReplayPool(options, slots);
    const failed = beds.find((bed) => bed.status === 'rejected');
    if (failed === undefined) return pool;
    await pool.close();
    throw failed.reason;
  }

  /** Replays a scenario as soon as a test bed is free. */
  async replay(scenario: Scenario): Promise<ScenarioResult> {
    const slot = this.#idle.pop() ?? (await new Promise<Slot>((resolve) => this.#waiting.push(resolve)));
    try {
      return await replayScenario(scenario, {
        ...slot,
        mode: modeOf(this.#options.variant),
        createFeed: (bed) => createFeed(this.#options.feed ?? 'files', bed),
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(slot);
      else next(slot);
    }
  }

  /** Stops all proxies and removes all test beds. */
  async close(): Promise<void> {
    await Promise.all(this.#slots.map(({ bed, proxy }) => proxy.close().finally(() => bed.close())));
  }
}

/** The proxy mode behind a variant. */
export function modeOf(variant: Variant): ReplayMode {
  return variant === 'nftables' ? 'nftables' : 'iptables';
}

/** A feed without objects, for the proxy in a test bed. */
export function createFeed(kind: FeedKind, bed: Testbed): Promise<ObjectFeed> {
  return kind === 'files' ? FileFeed.create() : ApiServerFeed.create(bed.fullName('node1'));
}
