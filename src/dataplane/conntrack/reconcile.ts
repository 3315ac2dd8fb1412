import type { Clock } from '../../base/clock.ts';
import { IPPROTO_UDP } from '../../kernel/conntrack/conntrack-attributes.ts';
import type { ConntrackConnection } from '../../kernel/conntrack/conntrack-connection.ts';
import { FlowDeletions } from '../../kernel/conntrack/flow-deletions.ts';
import type { KernelRejection } from '../../kernel/netlink/netlink-error.ts';
import type { UdpFrontends } from './stale-flows.ts';

/** How often a listing that the kernel marks as interrupted is tried; what the last one told counts (spec A.4.2). */
const ATTEMPTS = 5;

export interface ReconcileResult {
  /** UDP flows of the family that were looked at. */
  readonly examined: number;
  readonly deleted: number;
  /** Stale flows that were gone before they could be deleted. */
  readonly gone: number;
  /** Stale flows that the kernel would not delete. */
  readonly rejections: readonly KernelRejection[];
  /** Whether the pass was in vain because the rules changed meanwhile: another one is due. */
  readonly outdated: boolean;
  /** How long it took, seconds; for `conntrack_reconciler_sync_duration_seconds`. */
  readonly durationSeconds: number;
}

/**
 * Deletes the stale UDP flows of one family: one filtered pass over the table, during which only the flows to be
 * deleted are remembered, then one round of deletions. The kernel works on another thread, so nothing else waits.
 *
 * To be called after a sync that succeeded, and not twice at a time over one connection. When `isOutdated` says after
 * the pass that other rules are in the kernel by now, nothing is deleted: a flow that looks stale may be a new one
 * that follows the new rules. Rejects with NetlinkError when the table cannot be listed; then nothing was deleted.
 */
export async function reconcileConntrack(
  connection: ConntrackConnection,
  frontends: UdpFrontends,
  clock: Clock,
  isOutdated: () => boolean = () => false,
): Promise<ReconcileResult> {
  const start = clock.monotonic();
  const deletions = new FlowDeletions();
  let examined = 0;
  if (frontends.size > 0) {
    await connection.listFlowsInBackground(
      { family: frontends.family, protocol: IPPROTO_UDP },
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
  }
  const outdated = isOutdated();
  if (outdated) deletions.clear();
  const { deleted, gone, rejections } = await connection.deleteFlowsInBackground(deletions);
  const durationSeconds = (clock.monotonic() - start) / 1000;
  return { examined, deleted, gone, rejections, outdated, durationSeconds };
}
