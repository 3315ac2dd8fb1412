import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { Iptables } from '../../kernel/iptables/iptables.ts';
import { findMissingJumps } from './base-chain-jumps.ts';
import { mayBeOurs, meaningOf, type RulesetChange } from './foreign-changes.ts';

/** Changes are gathered for so long before the jumps are looked at. */
const SETTLE_MS = 200;
/** So long after our own restore, or after the last of its events, more of them may still come in … */
const ECHO_MS = 500;
/** … but not for longer than this: a restore of very many rules is told about late. */
const LONGEST_ECHO_MS = 30_000;

export interface ForeignChangeWatchDependencies {
  readonly iptables: Iptables;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Judges changes that the kernel tells about: those of our chains by somebody else are reported at once; after those
 * of built-in chains it is looked whether our jumps are still there. Own writes are told from others' by time and by
 * the name of the process.
 */
export class ForeignChangeWatch {
  readonly #dependencies: ForeignChangeWatchDependencies;
  readonly #onForeignChange: (what: string) => void;
  #writing = 0;
  #quietUntil = Number.NEGATIVE_INFINITY;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #closed = false;

  constructor(onForeignChange: (what: string) => void, dependencies: ForeignChangeWatchDependencies) {
    this.#onForeignChange = onForeignChange;
    this.#dependencies = dependencies;
  }

  /** Marks the time in which `action` writes rules. */
  async whileWriting<T>(action: () => Promise<T>): Promise<T> {
    this.#writing++;
    try {
      return await action();
    } finally {
      this.#writing--;
      this.#writtenAt = this.#dependencies.clock.monotonic();
      this.#quietUntil = this.#writtenAt + ECHO_MS;
    }
  }

  /** Takes one event. */
  take(change: RulesetChange): void {
    if (this.#closed) return;
    const meaning = meaningOf(change);
    if (meaning === 'none') return;
    const now = this.#dependencies.clock.monotonic();
    const isQuiet = this.#writing > 0 || now < this.#quietUntil;
    if (isQuiet && mayBeOurs(change)) {
      if (change.processName !== undefined)
        this.#quietUntil = Math.min(now + ECHO_MS, this.#writtenAt + LONGEST_ECHO_MS);
      return;
    }
    if (meaning === 'own-chain') this.#onForeignChange(describeChange(change));
    else this.#timer ??= this.#dependencies.clock.schedule(SETTLE_MS, () => void this.#checkJumps());
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #checkJumps(): Promise<void> {
    this.#timer = undefined;
    try {
      const missing = await findMissingJumps(this.#dependencies.iptables);
      if (missing.length > 0 && !this.#closed)
        this.#onForeignChange(
          `jumps removed: ${missing.map((jump) => `${jump.table} ${jump.from} to ${jump.to}`).join(', ')}`,
        );
    } catch (error) {
      this.#dependencies.logger.verbose(2, 'Cannot check the jumps', { err: describeError(error) });
    }
  }
}

function describeChange(change: RulesetChange): string {
  const by = change.processName === undefined ? '' : ` by ${change.processName}`;
  return change.chain === undefined
    ? `table ${change.table} changed${by}`
    : `chain ${change.chain} of table ${change.table} changed${by}`;
}
