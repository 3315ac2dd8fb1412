import type { IpFamily } from '../base/ip.ts';
import type { SyncReport } from '../dataplane/proxier.ts';
import type { ProxyPlan, ServicePortChange } from '../plan/proxy-plan.ts';

export type SyncPhase = 'wait' | 'plan' | 'apply';

/** One sync that ended well. */
export interface CompletedSync {
  readonly family: IpFamily;
  readonly full: boolean;
  readonly milliseconds: number;
  /** Milliseconds by phase. `wait` comes before the sync: from the first request that it answers to its start. */
  readonly phases: Readonly<Record<SyncPhase, number>>;
  readonly plan: ProxyPlan;
  /** Touched ServicePorts; `undefined` after a full sync, when anything may have changed. */
  readonly changes: readonly ServicePortChange[] | undefined;
  readonly report: SyncReport;
  /** A Service with changed slices has, or had, a UDP port: conntrack needs a look (spec A.2.4). */
  readonly udpEndpointsChanged: boolean;
  /** By Service: when the changes that are now in the kernel were triggered (wall clock ms, spec A.5). */
  readonly triggerTimes: ReadonlyMap<string, readonly number[]>;
  /** How long the changes waited that are in the kernel now: seconds since their arrival, and how many arrived together. */
  readonly delays: readonly { readonly seconds: number; readonly count: number }[];
}

/** Told about every step of a family's sync loop: metrics, health and the after-work of a sync hang here. Must not throw. */
export interface SyncObserver {
  serviceChanged(family: IpFamily, pending: number): void;
  endpointsChanged(family: IpFamily, pending: number): void;
  /** A sync was asked for. */
  queued(family: IpFamily): void;
  /** Pending changes were taken over. */
  started(family: IpFamily): void;
  completed(sync: CompletedSync): void;
  failed(family: IpFamily, full: boolean, milliseconds: number, error: unknown): void;
}
