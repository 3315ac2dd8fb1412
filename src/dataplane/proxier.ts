import type { PlanDiff, ProxyPlan } from '../plan/proxy-plan.ts';

/**
 * Makes a plan true in the kernel, for one address family. One implementation per mode.
 *
 * - `sync` is never called while another call of the same proxier runs.
 * - With `diff` undefined the whole plan is programmed and everything else of ours removed (full sync); it needs no
 *   memory of earlier calls and takes over whatever an earlier process, kube-proxy included, left behind, without a
 *   moment in which connections fail. The same plan twice is harmless.
 * - With a `diff` only that is applied, to the state that the last successful `sync` left (partial sync).
 * - A rejected promise means that the kernel holds what it held before, as far as one transaction reaches; the caller
 *   then asks for a full sync. Proxiers do not retry.
 * - Nothing is removed when the process ends. Each mode exports a function of its own for `--cleanup`, which needs no
 *   proxier.
 */
export interface Proxier {
  sync(plan: ProxyPlan, diff: PlanDiff | undefined): Promise<SyncReport>;
  /** Stops watching; rules stay. */
  close(): void;
}

/** What a sync did, for logs and metrics. */
export interface SyncReport {
  /** Objects (rules, elements, chains …) written and removed. */
  readonly operations: number;
  /** A full sync takes long, and is not needed for what others change: none should be done for the hour alone. */
  readonly skipHourlyFullSync?: boolean;
}
