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

/** A write of our own. */
interface Write {
  /** Where it removes anything: `table chain`; `undefined` for anywhere. */
  limits: ReadonlySet<string> | undefined;
  /** `undefined` while it is under way. */
  endedAt: number | undefined;
  /** Until then events may be its echo. */
  quietUntil: number;
}

/**
 * Judges changes that the kernel tells about: those of our chains by somebody else are reported at once; after those
 * of built-in chains it is looked whether our jumps are still there. Own writes are told from others' by time, by the
 * name of the process, and by what is written.
 */
export class ForeignChangeWatch {
  readonly #dependencies: ForeignChangeWatchDependencies;
  readonly #onForeignChange: (what: string) => void;
  /** Those under way, and those that may still be told about; the latest first. */
  #writes: readonly Write[] = [];
  #timer: Timer | undefined;
  #closed = false;

  constructor(onForeignChange: (what: string) => void, dependencies: ForeignChangeWatchDependencies) {
    this.#onForeignChange = onForeignChange;
    this.#dependencies = dependencies;
  }

  /** Marks the time in which `action` writes rules, in any chain as long as it does not say otherwise. */
  async whileWriting<T>(action: () => Promise<T>): Promise<T> {
    const write: Write = { limits: undefined, endedAt: undefined, quietUntil: Number.POSITIVE_INFINITY };
    this.#writes = [write, ...this.#recentWrites()];
    try {
      return await action();
    } finally {
      write.endedAt = this.#dependencies.clock.monotonic();
      write.quietUntil = write.endedAt + ECHO_MS;
    }
  }

  /** Says where alone the write that is under way removes anything: `table chain`; `undefined` for anywhere. */
  limitTo(chains: ReadonlySet<string> | undefined): void {
    this.#writes[0]!.limits = chains;
  }

  /** Takes one event. */
  take(change: RulesetChange): void {
    if (this.#closed) return;
    const meaning = meaningOf(change);
    if (meaning === 'none' || this.#isEcho(change)) return;
    if (meaning === 'own-chain') this.#onForeignChange(describeChange(change));
    else this.#timer ??= this.#dependencies.clock.schedule(SETTLE_MS, () => void this.#checkJumps());
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #isEcho(change: RulesetChange): boolean {
    if (!mayBeOurs(change)) return false;
    const writes = this.#recentWrites();
    const place = `${change.table} ${change.chain}`;
    const write =
      writes.find(({ limits }) => limits?.has(place)) ?? writes.find(({ limits }) => limits === undefined);
    if (write?.endedAt !== undefined && change.processName !== undefined) {
      const now = this.#dependencies.clock.monotonic();
      write.quietUntil = Math.min(now + ECHO_MS, write.endedAt + LONGEST_ECHO_MS);
    }
    return write !== undefined;
  }

  #recentWrites(): readonly Write[] {
    const now = this.#dependencies.clock.monotonic();
    return this.#writes.filter(({ quietUntil }) => now < quietUntil);
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
