import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { Iptables, IptablesTable } from '../../kernel/iptables/iptables.ts';
import { CANARY_CHAIN } from './top-level-chains.ts';

/** In the order they are watched: the first one is looked at regularly, it is the smallest. */
const tables: readonly IptablesTable[] = ['mangle', 'nat', 'filter'];

/** How long the other tables may take to go once one has gone; who flushes all does it one after the other. */
const FLUSH_POLL_MS = 100;
const FLUSH_WAIT_MS = 5000;

export interface CanaryMonitorOptions {
  readonly intervalMs: number;
  /** Called after each loss, when the flush is over. */
  readonly onLoss: () => void;
}

export interface CanaryMonitorDependencies {
  readonly iptables: Iptables;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Notices that somebody has flushed the tables: keeps an empty chain in each and looks whether it is there
 * (spec B.2.5). A check that fails for another reason says nothing and counts as "still there".
 */
export class CanaryMonitor {
  readonly #options: CanaryMonitorOptions;
  readonly #iptables: Iptables;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #running: Promise<void> | undefined;
  #stopped = false;
  #sleep: { readonly timer: Timer; readonly wake: () => void } | undefined;

  constructor(options: CanaryMonitorOptions, dependencies: CanaryMonitorDependencies) {
    this.#options = options;
    this.#iptables = dependencies.iptables;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
  }

  /** Begins to watch; harmless when it does already. */
  start(): void {
    if (!this.#stopped) this.#running ??= this.#run();
  }

  /** Ends watching; the chains stay. A look at the tables that is under way comes to its end. */
  close(): void {
    this.#stopped = true;
    this.#sleep?.timer.cancel();
    this.#sleep?.wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (!(await this.#plant())) {
        await this.#pause(this.#options.intervalMs);
        continue;
      }
      while (!this.#stopped && !(await this.#isLost(tables[0]!))) await this.#pause(this.#options.intervalMs);
      if (this.#stopped) return;
      await this.#waitForEndOfFlush();
      if (!this.#stopped) this.#options.onLoss();
    }
  }

  async #plant(): Promise<boolean> {
    try {
      for (const table of tables) await this.#iptables.createChain(table, CANARY_CHAIN);
      return true;
    } catch (error) {
      this.#logger.warn('Cannot watch the iptables tables yet', { err: describeError(error) });
      return false;
    }
  }

  /**
   * Whether the chain had to be made again. Of a table in which others use nftables' own means the programs may say that
   * a chain is not there, which alone would look like a flush at every look.
   */
  async #isLost(table: IptablesTable): Promise<boolean> {
    if (await this.#isThere(table)) return false;
    try {
      return await this.#iptables.createChain(table, CANARY_CHAIN);
    } catch (error) {
      this.#logger.verbose(2, 'Cannot make the canary chain again', { table, err: describeError(error) });
      return false;
    }
  }

  async #isThere(table: IptablesTable): Promise<boolean> {
    try {
      return await this.#iptables.hasChain(table, CANARY_CHAIN);
    } catch (error) {
      this.#logger.verbose(2, 'Cannot look for the canary chain', { table, err: describeError(error) });
      return true;
    }
  }

  async #waitForEndOfFlush(): Promise<void> {
    const end = this.#clock.monotonic() + FLUSH_WAIT_MS;
    const left = new Set(tables.slice(1));
    while (!this.#stopped) {
      for (const table of left) if (!(await this.#isThere(table))) left.delete(table);
      if (left.size === 0) return;
      if (this.#clock.monotonic() >= end) {
        this.#logger.warn('The canary chain is gone from some tables only', { stillIn: [...left] });
        return;
      }
      await this.#pause(FLUSH_POLL_MS);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleep = undefined;
        resolve();
      };
      this.#sleep = { timer: this.#clock.schedule(milliseconds, wake), wake };
    });
  }
}
