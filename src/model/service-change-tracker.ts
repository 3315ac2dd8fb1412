import type { IpFamily } from '../base/ip.ts';
import type * as kube from '../kube/service.ts';
import {
  equalServicePorts,
  type ReportProblem,
  type ServicePort,
  serviceKey,
  servicePortsOf,
} from './service-port.ts';

export type ServicePorts = ReadonlyMap<string, ServicePort>;

/** What became of one Service between two syncs. `undefined` stands for a Service that is absent or not for us. */
export interface ServiceChange {
  readonly before: ServicePorts | undefined;
  readonly after: ServicePorts | undefined;
}

/**
 * The Services of one family: what has been handed to a sync, and what changed since (spec A.1.8).
 * A change that is taken back before the next sync leaves nothing pending.
 */
export class ServiceChangeTracker {
  readonly #family: IpFamily;
  readonly #report: ReportProblem;
  readonly #current = new Map<string, ServicePorts>();
  readonly #pending = new Map<string, ServicePorts | undefined>();

  constructor(family: IpFamily, report: ReportProblem) {
    this.#family = family;
    this.#report = report;
  }

  /** Notes a Service that was added or changed. Returns whether any change at all is pending now. */
  update(service: kube.Service): boolean {
    return this.#note(
      serviceKey(service.namespace, service.name),
      servicePortsOf(service, this.#family, this.#report),
    );
  }

  /** Notes a Service that is gone. Returns whether any change at all is pending now. */
  delete(namespace: string, name: string): boolean {
    return this.#note(serviceKey(namespace, name), undefined);
  }

  /** Number of Services with a pending change. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Services that have been handed to a sync, by `namespace/name`. */
  get services(): ReadonlyMap<string, ServicePorts> {
    return this.#current;
  }

  /** Takes all pending changes over and returns them. */
  checkout(): Map<string, ServiceChange> {
    const changes = new Map<string, ServiceChange>();
    for (const [key, after] of this.#pending) {
      changes.set(key, { before: this.#current.get(key), after });
      if (after === undefined) this.#current.delete(key);
      else this.#current.set(key, after);
    }
    this.#pending.clear();
    return changes;
  }

  #note(key: string, ports: ServicePorts | undefined): boolean {
    if (equalServicePorts(this.#current.get(key), ports)) this.#pending.delete(key);
    else this.#pending.set(key, ports);
    return this.#pending.size > 0;
  }
}
