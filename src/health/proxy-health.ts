import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';

/** Key of the taint that the cluster autoscaler sets on a node before it removes it (KEP-3836). */
const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';

const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

/** What a Node says about getting traffic from a load balancer. */
export interface NodeState {
  readonly deletionTimestamp: number | undefined;
  readonly taints: readonly { readonly key: string }[];
}

export interface FamilyHealth {
  /** Wall clock, milliseconds: the last time the kernel was known to be up to date. */
  readonly lastUpdated: number;
  readonly healthy: boolean;
}

export interface HealthReport {
  /** No family is unhealthy; the node has no say in this. */
  readonly healthy: boolean;
  /** Whether load balancers should send new traffic to this node. */
  readonly nodeEligible: boolean;
  /** Families that have started. */
  readonly families: Partial<Readonly<Record<IpFamily, FamilyHealth>>>;
}

interface FamilyState {
  lastUpdated: number;
  /** Monotonic, milliseconds: when the oldest change that waits for the kernel was queued. */
  pendingSince: number | undefined;
}

/**
 * Whether the proxy keeps up with what it is asked to do (operations 4.1): a family is unhealthy when a change has been
 * waiting for the kernel longer than twice the sync period. Without a waiting change it is healthy for ever, however
 * old the last sync. Queued changes are aged by the monotonic clock: setting the wall clock does no harm.
 */
export class ProxyHealth {
  readonly #timeout: number;
  readonly #clock: Clock;
  readonly #families = new Map<IpFamily, FamilyState>();
  #node: NodeState | undefined;

  /** @param options.syncPeriod milliseconds. */
  constructor(options: { readonly syncPeriod: number }, dependencies: { readonly clock: Clock }) {
    this.#timeout = 2 * options.syncPeriod;
    this.#clock = dependencies.clock;
  }

  /** A sync of this family has been asked for. Before the start of its sync loop this says nothing. */
  queuedUpdate(family: IpFamily): void {
    const state = this.#families.get(family);
    if (state !== undefined) state.pendingSince ??= this.#clock.monotonic();
  }

  /** The sync loop of this family has started, or a sync has succeeded: nothing is waiting. */
  updated(family: IpFamily): void {
    this.#families.set(family, { lastUpdated: this.#clock.now(), pendingSince: undefined });
  }

  /** The Node object of this node as last delivered. A deleted Node keeps its last state. */
  nodeChanged(node: NodeState): void {
    this.#node = node;
  }

  /** Whether no family is unhealthy; true before any has started. */
  isHealthy(): boolean {
    for (const state of this.#families.values()) if (!this.#isFamilyHealthy(state)) return false;
    return true;
  }

  /** The node is known, is not being deleted, and the cluster autoscaler is not about to remove it. */
  isNodeEligible(): boolean {
    const node = this.#node;
    if (node === undefined || node.deletionTimestamp !== undefined) return false;
    return !node.taints.some(({ key }) => key === TO_BE_DELETED_TAINT);
  }

  report(): HealthReport {
    const families: Partial<Record<IpFamily, FamilyHealth>> = {};
    for (const family of FAMILIES) {
      const state = this.#families.get(family);
      if (state === undefined) continue;
      families[family] = { lastUpdated: state.lastUpdated, healthy: this.#isFamilyHealthy(state) };
    }
    return { healthy: this.isHealthy(), nodeEligible: this.isNodeEligible(), families };
  }

  #isFamilyHealthy(state: FamilyState): boolean {
    return state.pendingSince === undefined || this.#clock.monotonic() - state.pendingSince < this.#timeout;
  }
}
