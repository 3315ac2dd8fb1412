import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type ReconcileResult, reconcileConntrack } from '../dataplane/conntrack/reconcile.ts';
import { mayHaveStaleFlows, udpFrontendsOf } from '../dataplane/conntrack/udp-frontends-of.ts';
import type { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import type { ServicePortChange } from '../plan/proxy-plan.ts';
import type { CompletedSync } from '../sync/sync-observer.ts';

/** Changes kept for the next pass when one fails. */
const MOST_CHANGES_KEPT = 10_000;

/**
 * Removes stale UDP flows of one family after the syncs that may have made them stale (spec A.4). One pass over the
 * conntrack table at a time; syncs that end meanwhile are covered by one more pass.
 */
export class ConntrackCleaner {
  readonly #connection: ConntrackConnection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onResult: (result: ReconcileResult) => void;
  /** Changes since the last pass began. */
  #changes: ServicePortChange[] = [];
  #due: CompletedSync | undefined;
  #running = false;

  constructor(dependencies: {
    readonly connection: ConntrackConnection;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly onResult: (result: ReconcileResult) => void;
  }) {
    this.#connection = dependencies.connection;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
    this.#onResult = dependencies.onResult;
  }

  /** To be told of each sync that ended well. Never throws. */
  synced(sync: CompletedSync): void {
    const changes = sync.changes ?? [];
    if (!sync.udpEndpointsChanged && !mayHaveStaleFlows(changes)) return;
    this.#changes.push(...changes);
    this.#due = sync;
    if (!this.#running) void this.#run();
  }

  close(): void {
    this.#connection.close();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#due !== undefined) {
      const { plan, family } = this.#due;
      const changes = this.#changes;
      this.#due = undefined;
      this.#changes = [];
      try {
        const frontends = udpFrontendsOf(plan, changes);
        const isOutdated = () => this.#due !== undefined;
        const result = await reconcileConntrack(this.#connection, frontends, this.#clock, isOutdated);
        if (result.outdated) {
          this.#changes.unshift(...changes);
          continue;
        }
        this.#onResult(result);
        if (result.deleted > 0) {
          this.#logger.verbose(2, 'Removed stale UDP flows', {
            ipFamily: family,
            deleted: result.deleted,
            examined: result.examined,
          });
        }
        for (const rejection of result.rejections.slice(0, 1)) {
          this.#logger.warn('The kernel refused to delete conntrack entries', {
            ipFamily: family,
            refused: result.rejections.length,
            errno: rejection.errnoName,
          });
        }
      } catch (error) {
        // The next pass knows of them; a table that can never be listed must not make the list grow for ever.
        this.#changes.unshift(...changes.slice(0, MOST_CHANGES_KEPT));
        this.#logger.error('Stale UDP flows could not be removed', error, { ipFamily: family });
      }
    }
    this.#running = false;
  }
}
