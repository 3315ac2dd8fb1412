import type { Clock } from '../../base/clock.ts';
import type { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { FlowDeletions } from '../../kernel/conntrack/flow-deletions.ts';
import type { KernelRejection } from '../../kernel/netlink/netlink-error.ts';
import type { FlowFrontends } from './flow-frontends.ts';
import type { FlowKind } from './flow-frontends-of.ts';

/** How often a listing that the kernel marks as interrupted is tried; what the last one told counts (spec A.4.2). */
const ATTEMPTS = 5;

/**
 * How long an answer to a SYN or INIT may take: an endpoint that left may be alive, and its SYN-ACK under way. Clients
 * send again after a second, so nobody waits longer because of it.
 */
const ANSWER_MILLISECONDS = 200;

export interface ReconcileResult {
  /** Flows that were looked at: of UDP all of the family, of TCP and SCTP those that nobody has answered. */
  readonly examined: number;
  readonly deleted: number;
  /** Stale flows that were gone before they could be deleted. */
  readonly gone: number;
  /** Connections that were answered just in time. */
  readonly answered: number;
  /** Stale flows that the kernel would not delete. */
  readonly rejections: readonly KernelRejection[];
  /** Whether the pass was in vain because the rules changed meanwhile: another one is due. */
  readonly outdated: boolean;
  /** How long it took, seconds, without the wait for answers; for `conntrack_reconciler_sync_duration_seconds`. */
  readonly durationSeconds: number;
}

/**
 * Deletes the stale flows of one kind and family: one pass over the table, filtered by the kernel, during which only the
 * flows to be deleted are remembered, then a round of deletions. The kernel works on another thread, so nothing else
 * waits. (One unfiltered pass for both kinds would take several times as long as the two: it shows all established
 * connections.)
 *
 * A connection has some time to be answered, and is looked at again right before it is deleted.
 *
 * To be called after a sync that succeeded, and not twice at a time over one connection to the kernel. When `isOutdated`
 * says after the pass that other rules for flows of this kind are in the kernel by now, nothing is deleted: a flow that
 * looks stale may be a new one that follows the new rules. Rejects with NetlinkError when the table cannot be listed;
 * then nothing was deleted.
 */
export async function reconcileConntrack(
  connection: ConntrackConnection,
  kind: FlowKind,
  frontends: FlowFrontends,
  clock: Clock,
  isOutdated: () => boolean = () => false,
): Promise<ReconcileResult> {
  const start = clock.monotonic();
  const { examined, deletions } = await staleFlows(connection, frontends);
  const outdated = isOutdated();
  if (outdated) deletions.clear();
  let waited = 0;
  if (kind === 'connections' && deletions.size > 0) {
    const wait = clock.monotonic();
    await new Promise<void>((resolve) => clock.schedule(ANSWER_MILLISECONDS, resolve));
    waited = clock.monotonic() - wait;
  }
  const { deleted, gone, rejections, kept } =
    kind === 'connections'
      ? await connection.deleteFlowsThatAreStill(deletions, (flow) => frontends.isStale(flow))
      : { ...(await connection.deleteFlowsInBackground(deletions)), kept: 0 };
  const durationSeconds = (clock.monotonic() - start - waited) / 1000;
  return { examined, deleted, gone, answered: kept, rejections, outdated, durationSeconds };
}

async function staleFlows(
  connection: ConntrackConnection,
  frontends: FlowFrontends,
): Promise<{ readonly examined: number; readonly deletions: FlowDeletions }> {
  const deletions = new FlowDeletions();
  let examined = 0;
  if (frontends.size === 0) return { examined, deletions };
  await connection.listFlowsInBackground(
    frontends.query,
    (flow) => {
      examined++;
      if (frontends.isStale(flow)) deletions.add(flow);
    },
    {
      attempts: ATTEMPTS,
      onInterrupted: 'accept',
      onRestart: () => {
        examined = 0;
        deletions.clear();
      },
    },
  );
  return { examined, deletions };
}
