import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type FlowKind, flowFrontendsOf } from '../dataplane/conntrack/flow-frontends-of.ts';
import { type ReconcileResult, reconcileConntrack } from '../dataplane/conntrack/reconcile.ts';
import type { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import type { PlanDiff, ProxyPlan } from '../plan/proxy-plan.ts';

/** Changes kept for the next pass when one fails. */
const MOST_CHANGES_KEPT = 10_000;

/**
 * How often in a row a pass may be in vain because other rules came meanwhile. With syncs that follow each other faster
 * than passes nothing would be deleted at all; a flow that is deleted by mistake starts anew by the rules.
 */
const MOST_OUTDATED = 5;

export interface FlowPassesDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Addresses of this node, of the family. */
  readonly localAddresses: () => readonly string[];
  readonly onResult: (result: ReconcileResult) => void;
}

/** What a pass is for. */
interface Due {
  readonly plan: ProxyPlan;
  /** Since the last pass began. */
  readonly changes: PlanDiff;
}

/**
 * Passes over the conntrack table for one kind of flow, one at a time over a connection of their own; syncs that end
 * meanwhile are covered by one more pass.
 */
export class FlowPasses {
  readonly #kind: FlowKind;
  readonly #connection: ConntrackConnection;
  readonly #dependencies: FlowPassesDependencies;
  #due: Due | undefined;
  /** What a pass that failed was to look at: no reason for another one by itself. */
  #left: Due | undefined;
  #running = false;
  #closed = false;

  constructor(kind: FlowKind, connection: ConntrackConnection, dependencies: FlowPassesDependencies) {
    this.#kind = kind;
    this.#connection = connection;
    this.#dependencies = dependencies;
  }

  /** Asks for a pass: these changes have led to the plan, which is in the kernel. Never throws. */
  request(plan: ProxyPlan, changes: PlanDiff): void {
    this.#due = joined(this.#left, joined(this.#due, { plan, changes }));
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
        const result = await this.#pass(due, outdated < MOST_OUTDATED);
        outdated = result?.outdated === true ? outdated + 1 : 0;
        if (result?.outdated === true) this.#due = joined(due, this.#due);
        else if (result !== undefined) this.#report(due, result);
      } catch (error) {
        if (this.#closed) return;
        // A table that can never be listed must not make the list grow for ever.
        const left = { ...due, changes: due.changes.slice(0, MOST_CHANGES_KEPT) };
        if (this.#due === undefined) this.#left = left;
        else this.#due = joined(left, this.#due);
        const ipFamily = due.plan.settings.family;
        this.#dependencies.logger.error('Stale flows could not be removed', error, { ipFamily });
      }
    }
    this.#running = false;
  }

  /** Undefined when there is nothing to look for. */
  async #pass({ plan, changes }: Due, mayBeOutdated: boolean): Promise<ReconcileResult | undefined> {
    const { clock, localAddresses } = this.#dependencies;
    const frontends = flowFrontendsOf(plan, this.#kind, { changes, localAddresses: localAddresses() });
    if (frontends.size === 0) return undefined;
    const isOutdated = () => mayBeOutdated && this.#due !== undefined;
    return reconcileConntrack(this.#connection, this.#kind, frontends, clock, isOutdated);
  }

  #report({ plan }: Due, result: ReconcileResult): void {
    const { logger, onResult } = this.#dependencies;
    const { deleted, examined, answered, rejections } = result;
    const ipFamily = plan.settings.family;
    onResult(result);
    if (deleted > 0 || answered > 0) {
      const counts = { deleted, examined, answered };
      logger.verbose(2, 'Removed stale flows', { ipFamily, kind: this.#kind, ...counts });
    }
    if (rejections[0] === undefined) return;
    logger.warn('The kernel refused to delete conntrack entries', {
      ipFamily,
      refused: rejections.length,
      errno: rejections[0].errnoName,
    });
  }
}

/** What both are for, with the plan of the later one. */
function joined(earlier: Due | undefined, later: Due | undefined): Due | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  return { plan: later.plan, changes: [...earlier.changes, ...later.changes] };
}
