import type { Endpoint } from '../model/endpoint.ts';
import {
  type ModelProblem,
  printableName,
  type ReportProblem,
  type ServicePort,
} from '../model/service-port.ts';
import { canServe, categorizeEndpoints } from './categorize-endpoints.ts';
import { claimedFrontends, FrontendClaims } from './frontend-claims.ts';
import type { PlanSettings } from './plan-settings.ts';
import type { Frontend, PlanDiff, ProxyPlan, ServicePortChange, ServicePortPlan } from './proxy-plan.ts';

/** What the planner reads: Services and their endpoints as of the last checkout. */
export interface PlannerInput {
  /** By `namespace/name`, then by servicePortKey. */
  readonly services: ReadonlyMap<string, ReadonlyMap<string, ServicePort>>;
  endpoints(service: string, portName: string, protocol: string): readonly Endpoint[];
}

/**
 * Decides, for one address family, what each ServicePort should do on this node, and keeps the plan up to date at a
 * cost that follows the size of the change. After any sequence of {@link update} the plan equals what {@link replan}
 * would make of the same input.
 */
export class Planner {
  readonly #report: ReportProblem;
  #settings: PlanSettings;
  /** As of the last call. */
  #input: PlannerInput = { services: new Map(), endpoints: () => [] };
  #servicePorts = new Map<string, ServicePortPlan>();
  #claims: FrontendClaims;
  /** By servicePortKey: the first destination that another ServicePort has. */
  readonly #lost = new Map<string, ModelProblem>();
  /** The ports of each Service whose claims are entered. */
  #entered = new Map<string, ReadonlyMap<string, ServicePort>>();

  /** `report` is told when a ServicePort comes to lose a destination to another. */
  constructor(settings: PlanSettings, report: ReportProblem) {
    this.#settings = settings;
    this.#report = report;
    this.#claims = this.#newClaims();
  }

  /** The current plan. The maps are live: read them before the next update, or copy. */
  get plan(): ProxyPlan {
    return { settings: this.#settings, servicePorts: this.#servicePorts };
  }

  /** ServicePorts that another one has a destination of, one problem each. */
  get lostFrontends(): Iterable<ModelProblem> {
    return this.#lost.values();
  }

  /** Looks at everything again, with new settings. */
  replan(input: PlannerInput, settings: PlanSettings): ProxyPlan {
    this.#settings = settings;
    this.#input = input;
    this.#servicePorts = new Map();
    this.#claims = this.#newClaims();
    this.#entered = new Map();
    for (const [service, ports] of input.services) this.#enter(service, ports);
    for (const key of [...this.#lost.keys()]) {
      if (!input.services.get(serviceOfKey(key))?.has(key)) this.#lost.delete(key);
    }
    for (const [service, ports] of input.services) {
      for (const [key, port] of ports) this.#servicePorts.set(key, this.#planOf(service, key, port, input));
    }
    return this.plan;
  }

  /** Looks again at these Services, and at those that win or lose an address because of them. */
  update(input: PlannerInput, services: Iterable<string>): PlanDiff {
    this.#input = input;
    const changes: ServicePortChange[] = [];
    const affected = new Set<string>();
    const touched = new Map<string, string>();
    for (const service of services) {
      for (const key of this.#entered.get(service)?.keys() ?? []) touched.set(key, service);
      for (const other of this.#withdraw(service)) affected.add(other);
      const ports = input.services.get(service);
      if (ports === undefined) continue;
      for (const other of this.#enter(service, ports)) affected.add(other);
      for (const key of ports.keys()) touched.set(key, service);
    }
    for (const key of affected) {
      const port = this.#servicePorts.get(key)?.servicePort;
      if (port !== undefined && !touched.has(key)) touched.set(key, `${port.namespace}/${port.name}`);
    }
    for (const [key, service] of touched) {
      const before = this.#servicePorts.get(key);
      const port = input.services.get(service)?.get(key);
      const after = port === undefined ? undefined : this.#planOf(service, key, port, input);
      if (after === undefined) {
        this.#servicePorts.delete(key);
        this.#lost.delete(key);
      } else this.#servicePorts.set(key, after);
      if (before !== undefined || after !== undefined) changes.push({ before, after });
    }
    return changes;
  }

  #newClaims(): FrontendClaims {
    return new FrontendClaims({
      portOf: (key) => this.#entered.get(serviceOfKey(key))?.get(key),
      isServed: ({ namespace, name, portName, protocol }) =>
        canServe(this.#input.endpoints(`${namespace}/${name}`, portName, protocol)),
    });
  }

  #enter(service: string, ports: ReadonlyMap<string, ServicePort>): string[] {
    this.#entered.set(service, ports);
    const affected: string[] = [];
    for (const [key, port] of ports) affected.push(...this.#claims.add(key, port, this.#claimsOf(port)));
    return affected;
  }

  #withdraw(service: string): string[] {
    const affected: string[] = [];
    for (const [key, port] of this.#entered.get(service) ?? []) {
      affected.push(...this.#claims.remove(key, port, this.#claimsOf(port)));
    }
    this.#entered.delete(service);
    return affected;
  }

  #claimsOf(port: ServicePort): readonly Frontend[] {
    return claimedFrontends(port, this.#settings.allowExternalIPs);
  }

  #planOf(service: string, key: string, port: ServicePort, input: PlannerInput): ServicePortPlan {
    const endpoints = input.endpoints(service, port.portName, port.protocol);
    const frontends: Frontend[] = [];
    let lost: ModelProblem | undefined;
    for (const frontend of this.#claimsOf(port)) {
      const owner = this.#claims.owner(frontend, port.protocol);
      if (owner === key) frontends.push(frontend);
      else lost ??= lostFrontend(port, frontend, owner);
    }
    this.#noteLost(key, lost);
    return {
      key,
      servicePort: port,
      endpoints,
      frontends,
      ...categorizeEndpoints(endpoints, port, this.#settings),
    };
  }

  /** Reports a loss when it is new. */
  #noteLost(key: string, lost: ModelProblem | undefined): void {
    const before = this.#lost.get(key);
    if (lost === undefined) this.#lost.delete(key);
    else this.#lost.set(key, lost);
    if (lost !== undefined && lost.reason !== before?.reason) this.#report(lost);
  }
}

function lostFrontend(port: ServicePort, frontend: Frontend, owner: string | undefined): ModelProblem {
  const destination =
    frontend.kind === 'NodePort' ? `node port ${frontend.port}` : `${frontend.ip}:${frontend.port}`;
  return {
    kind: 'Service',
    namespace: port.namespace,
    name: port.name,
    field: frontend.kind,
    reason: `${destination}/${port.protocol} of ${printableName(port)} is served for ${owner}`,
  };
}

/** `namespace/name` of a servicePortKey: neither part can hold a colon, and only the first two slashes count. */
function serviceOfKey(key: string): string {
  const [namespace, rest = ''] = key.split('/', 2);
  return `${namespace}/${rest.split(':', 1)[0]}`;
}
