import type { ProxyPlan, ServicePortChange, ServicePortPlan } from '../plan/proxy-plan.ts';

/**
 * How many ServicePorts of policy Local have endpoints, but none on this node
 * (metric `sync_proxy_rules_no_local_endpoints_total`). Kept up to date at the cost of the change.
 */
export class NoLocalEndpoints {
  internal = 0;
  external = 0;

  /** Counts a whole plan, or what changed in it. */
  update(plan: ProxyPlan, changes: readonly ServicePortChange[] | undefined): void {
    if (changes === undefined) {
      this.internal = 0;
      this.external = 0;
      for (const servicePort of plan.servicePorts.values()) this.#count(servicePort, 1);
      return;
    }
    for (const { before, after } of changes) {
      if (before !== undefined) this.#count(before, -1);
      if (after !== undefined) this.#count(after, 1);
    }
  }

  #count(plan: ServicePortPlan, by: number): void {
    if (!plan.hasAnyEndpoints || plan.local.length > 0) return;
    if (plan.servicePort.internalPolicyLocal) this.internal += by;
    if (
      plan.servicePort.externalPolicyLocal &&
      plan.frontends.some((frontend) => frontend.kind !== 'ClusterIP')
    ) {
      this.external += by;
    }
  }
}
