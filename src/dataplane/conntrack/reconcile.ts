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

/** Where stale flows may be: one pass over the table for each that is not empty. */
export type FrontendsToLookAt = Readonly<Partial<Record<FlowKind, FlowFrontends | undefined>>>;

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
  /** For what a pass was in vain because the rules changed meanwhile: another one is due. */
  readonly outdated: readonly FlowKind[];
  /** How long it took, seconds, without the wait for answers; for `conntrack_reconciler_sync_duration_seconds`. */
  readonly durationSeconds: number;
}

/**
 * Deletes the stale flows of one family: one pass over the table for UDP and one for connections that nobody has
 * answered, each filtered by the kernel, which costs a fraction of one pass that shows all established connections.
 * During a pass only the flows to be deleted are remembered. The kernel works on another thread, so nothing else waits.
 *
 * A connection has some time to be answered, and is looked at again right before it is deleted.
 *
 * To be called after a sync that succeeded, and not twice at a time over one connection. When `isOutdated` says after a
 * pass that other rules for flows of its kind are in the kernel by now, nothing that it found is deleted: a flow that
 * looks stale may be a new one that follows the new rules. Rejects with NetlinkError when the table cannot be listed; then nothing that this
 * listing would have found was deleted.
 */
export async function reconcileConntrack(
  connection: ConntrackConnection,
  toLookAt: FrontendsToLookAt,
  clock: Clock,
  isOutdated: (kind: FlowKind) => boolean = () => false,
): Promise<ReconcileResult> {
  const start = clock.monotonic();
  let [examined, deleted, gone, answered, waited] = [0, 0, 0, 0, 0];
  const outdated: FlowKind[] = [];
  const rejections: KernelRejection[] = [];
  for (const kind of ['datagrams', 'connections'] as const) {
    const frontends = toLookAt[kind];
    if (frontends === undefined || frontends.size === 0) continue;
    const stale = await staleFlows(connection, frontends);
    examined += stale.examined;
    if (isOutdated(kind)) {
      outdated.push(kind);
      continue;
    }
    if (stale.deletions.size === 0) continue;
    if (kind === 'datagrams') {
      const result = await connection.deleteFlowsInBackground(stale.deletions);
      deleted += result.deleted;
      gone += result.gone;
      rejections.push(...result.rejections);
      continue;
    }
    const wait = clock.monotonic();
    await new Promise<void>((resolve) => clock.schedule(ANSWER_MILLISECONDS, resolve));
    waited += clock.monotonic() - wait;
    const result = await connection.deleteFlowsThatAreStill(stale.deletions, (flow) =>
      frontends.isStale(flow),
    );
    deleted += result.deleted;
    gone += result.gone;
    answered += result.kept;
    rejections.push(...result.rejections);
  }
  const durationSeconds = (clock.monotonic() - start - waited) / 1000;
  return { examined, deleted, gone, answered, rejections, outdated, durationSeconds };
}

async function staleFlows(
  connection: ConntrackConnection,
  frontends: FlowFrontends,
): Promise<{ readonly examined: number; readonly deletions: FlowDeletions }> {
  const deletions = new FlowDeletions();
  let examined = 0;
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
