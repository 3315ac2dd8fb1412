import type { Clock, Timer } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';

/** So many repairs are made at once, and one more for each interval that passes. */
const BURST = 10;
const INTERVAL_MS = 15_000;

interface FamilyState {
  tokens: number;
  filledAt: number;
  waiting: Timer | undefined;
  /** Rules are going to be written; what is changed until then is covered by that. */
  isRequested: boolean;
}

/**
 * Has rules written again that somebody else changed: at once, unless that goes on and on. Two proxies on one node would
 * otherwise chase each other without end.
 */
export class Repairs {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #repair: (family: IpFamily, what: string) => void;
  readonly #families = new Map<IpFamily, FamilyState>();

  /** `repair` asks for the rules to be written. It is called once for all that is changed before they are ({@link begun}). */
  constructor(
    dependencies: { readonly clock: Clock; readonly logger: Logger },
    repair: (family: IpFamily, what: string) => void,
  ) {
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
    this.#repair = repair;
  }

  /** Takes one change by somebody else. */
  note(family: IpFamily, what: string): void {
    const state = this.#stateOf(family);
    if (state.waiting !== undefined || state.isRequested) return;
    const wait = this.#reserve(state);
    if (wait === 0) {
      this.#logger.warn('Something else changed our rules, writing them again', {
        ipFamily: family,
        change: what,
      });
      this.#request(family, state, what);
      return;
    }
    this.#logger.warn('Something else keeps changing our rules: does another proxy run on this node?', {
      ipFamily: family,
      change: what,
      repairInSeconds: Math.ceil(wait / 1000),
    });
    state.waiting = this.#clock.schedule(wait, () => {
      state.waiting = undefined;
      this.#request(family, state, what);
    });
  }

  /** The rules of a family are about to be written: changes from now on need another repair. */
  begun(family: IpFamily): void {
    const state = this.#families.get(family);
    if (state !== undefined) state.isRequested = false;
  }

  close(): void {
    for (const { waiting } of this.#families.values()) waiting?.cancel();
  }

  #request(family: IpFamily, state: FamilyState, what: string): void {
    state.isRequested = true;
    this.#repair(family, what);
  }

  #stateOf(family: IpFamily): FamilyState {
    let state = this.#families.get(family);
    if (state === undefined) {
      state = { tokens: BURST, filledAt: this.#clock.monotonic(), waiting: undefined, isRequested: false };
      this.#families.set(family, state);
    }
    return state;
  }

  /** Takes a repair from the budget; returns the milliseconds until it may be made. */
  #reserve(state: FamilyState): number {
    const now = this.#clock.monotonic();
    state.tokens = Math.min(BURST, state.tokens + (now - state.filledAt) / INTERVAL_MS) - 1;
    state.filledAt = now;
    return state.tokens >= 0 ? 0 : -state.tokens * INTERVAL_MS;
  }
}
