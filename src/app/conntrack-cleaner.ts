import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import {
  type FlowKind,
  flowFrontendsOf,
  mayHaveStaleFlows,
} from '../dataplane/conntrack/flow-frontends-of.ts';
import { ProgrammedServicePorts } from '../dataplane/conntrack/programmed-service-ports.ts';
import {
  type FrontendsToLookAt,
  type ReconcileResult,
  reconcileConntrack,
} from '../dataplane/conntrack/reconcile.ts';
import type { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import type { PlanDiff, ProxyPlan } from '../plan/proxy-plan.ts';
import type { CompletedSync } from '../sync/sync-observer.ts';

/** Changes kept for the next pass when one fails. */
const MOST_CHANGES_KEPT = 10_000;

/**
 * How often in a row a pass may be in vain because other rules came meanwhile. With syncs that follow each other faster
 * than passes nothing would be deleted at all; a flow that is deleted by mistake starts anew by the rules.
 */
const MOST_OUTDATED = 5;

/** What is to be looked at, and why. */
interface Due {
  readonly plan: ProxyPlan;
  readonly kinds: ReadonlySet<FlowKind>;
  /** Since the last pass began. */
  readonly changes: PlanDiff;
}

/**
 * Removes stale flows of one family after the syncs that may have made them stale (spec A.4). One pass over the
 * conntrack table at a time; syncs that end meanwhile are covered by one more pass.
 */
export class ConntrackCleaner {
  readonly #connection: ConntrackConnection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #localAddresses: () => readonly string[];
  readonly #onResult: (result: ReconcileResult) => void;
  readonly #programmed = new ProgrammedServicePorts();
  #due: Due | undefined;
  /** What a pass that failed was to look at: no reason for another one by itself. */
  #left: Due | undefined;
  #running = false;
  #closed = false;

  constructor(dependencies: {
    readonly connection: ConntrackConnection;
    readonly clock: Clock;
    readonly logger: Logger;
    /** Addresses of this node, of the family. */
    readonly localAddresses: () => readonly string[];
    readonly onResult: (result: ReconcileResult) => void;
  }) {
    this.#connection = dependencies.connection;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
    this.#localAddresses = dependencies.localAddresses;
    this.#onResult = dependencies.onResult;
  }

  /** To be told of each sync that ended well. Never throws. */
  synced(sync: CompletedSync): void {
    const { plan } = sync;
    const changes = this.#programmed.update(plan, sync.changes);
    const kinds = new Set<FlowKind>();
    // After a full sync anything may be in the kernel that was not before: others may have removed our rules.
    if (sync.changes === undefined) kinds.add('datagrams').add('connections');
    if (sync.udpEndpointsChanged || mayHaveStaleFlows(changes, 'datagrams')) kinds.add('datagrams');
    if (mayHaveStaleFlows(changes, 'connections')) kinds.add('connections');
    if (kinds.size === 0) return;
    this.#due = joined(joined(this.#left, this.#due), { plan, kinds, changes });
    this.#left = undefined;
    if (!this.#running) void this.#run();
  }

  /** Ends a pass that is under way. */
  close(): void {
    this.#closed = true;
    this.#connection.close();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let outdated = 0; this.#due !== undefined && !this.#closed; ) {
      const due = this.#due;
      this.#due = undefined;
      try {
        const mayWait = outdated < MOST_OUTDATED;
        const result = await reconcileConntrack(
          this.#connection,
          this.#frontendsOf(due),
          this.#clock,
          (kind) => mayWait && this.#due?.kinds.has(kind) === true,
        );
        outdated = result.outdated.length > 0 ? outdated + 1 : 0;
        if (result.outdated.length > 0)
          this.#due = joined({ ...due, kinds: new Set(result.outdated) }, this.#due);
        this.#report(due.plan.settings.family, result);
      } catch (error) {
        if (this.#closed) return;
        // A table that can never be listed must not make the list grow for ever.
        const left = { ...due, changes: due.changes.slice(0, MOST_CHANGES_KEPT) };
        if (this.#due === undefined) this.#left = left;
        else this.#due = joined(left, this.#due);
        this.#logger.error('Stale flows could not be removed', error, {
          ipFamily: due.plan.settings.family,
        });
      }
    }
    this.#running = false;
  }

  #frontendsOf({ plan, kinds, changes }: Due): FrontendsToLookAt {
    const options = { changes, localAddresses: this.#localAddresses() };
    const of = (kind: FlowKind) => (kinds.has(kind) ? flowFrontendsOf(plan, kind, options) : undefined);
    return { datagrams: of('datagrams'), connections: of('connections') };
  }

  #report(ipFamily: IpFamily, result: ReconcileResult): void {
    const { deleted, examined, answered, rejections, outdated } = result;
    if (outdated.length === 0 || deleted > 0) this.#onResult(result);
    if (deleted > 0 || answered > 0)
      this.#logger.verbose(2, 'Removed stale flows', { ipFamily, deleted, examined, answered });
    for (const rejection of rejections.slice(0, 1)) {
      this.#logger.warn('The kernel refused to delete conntrack entries', {
        ipFamily,
        refused: rejections.length,
        errno: rejection.errnoName,
      });
    }
  }
}

/** What two are to look at, with the plan of the later one. */
function joined(earlier: Due | undefined, later: Due | undefined): Due | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  return {
    plan: later.plan,
    kinds: new Set([...earlier.kinds, ...later.kinds]),
    changes: [...earlier.changes, ...later.changes],
  };
}
