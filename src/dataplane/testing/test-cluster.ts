import { EndpointSliceCache } from '../../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../../model/service-change-tracker.ts';
import { endpoint, type ServiceFields, service, slice } from '../../model/testing/objects.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { Planner } from '../../plan/planner.ts';
import type { PlanDiff, ProxyPlan } from '../../plan/proxy-plan.ts';
import { settings } from '../../plan/testing/settings.ts';

/** Services and slices that turn into plans and diffs, as in a running proxy. */
export class TestCluster {
  #settings: PlanSettings;
  readonly #services: ServiceChangeTracker;
  readonly #slices: EndpointSliceCache;
  readonly #planner: Planner;

  constructor(fields: Partial<PlanSettings> = {}) {
    this.#settings = settings(fields);
    const { family, nodeName } = this.#settings;
    this.#services = new ServiceChangeTracker(family, () => {});
    this.#slices = new EndpointSliceCache({ family, nodeName, report: () => {} });
    this.#planner = new Planner(this.#settings, () => {});
  }

  get settings(): PlanSettings {
    return this.#settings;
  }

  /** Changes settings; the next {@link plan} follows them. */
  change(fields: Partial<PlanSettings>): this {
    this.#settings = { ...this.#settings, ...fields };
    return this;
  }

  /** Adds or replaces a Service: `namespace/name` and what differs from a plain one. */
  service(key: string, fields: ServiceFields): this {
    const [namespace, name] = key.split('/') as [string, string];
    this.#services.update(service({ namespace, name, ...fields }));
    return this;
  }

  deleteService(key: string): this {
    const [namespace, name] = key.split('/') as [string, string];
    this.#services.delete(namespace, name);
    return this;
  }

  /** Sets the one slice of a Service; see {@link testEndpoint}. `ports` maps port names to `port/protocol`. */
  slice(key: string, ports: Readonly<Record<string, string>>, addresses: readonly string[]): this {
    const [namespace, name] = key.split('/') as [string, string];
    this.#slices.update(
      slice({
        namespace,
        name: `${name}-1`,
        serviceName: name,
        addressType: this.#settings.family,
        ports: Object.entries(ports).map(([portName, text]) => {
          const [port, protocol = 'TCP'] = text.split('/');
          return { name: portName, port: Number(port), protocol };
        }),
        endpoints: addresses.map((text) => testEndpoint(text, this.#settings.nodeName)),
      }),
    );
    return this;
  }

  /** Sets any slice. */
  rawSlice(raw: ReturnType<typeof slice>): this {
    this.#slices.update(raw);
    return this;
  }

  deleteSlice(key: string): this {
    const [namespace, name] = key.split('/') as [string, string];
    this.#slices.delete(namespace, `${name}-1`);
    return this;
  }

  /** Everything anew. */
  plan(): ProxyPlan {
    this.#checkout();
    return this.#planner.replan(this.#input(), this.#settings);
  }

  /** What has changed since the last call of this method or of {@link plan}. */
  update(): { plan: ProxyPlan; diff: PlanDiff } {
    const diff = this.#planner.update(this.#input(), this.#checkout());
    return { plan: this.#planner.plan, diff };
  }

  #input() {
    return {
      services: this.#services.services,
      endpoints: (key: string, portName: string, protocol: string) =>
        this.#slices.endpoints(key, portName, protocol),
    };
  }

  #checkout(): Set<string> {
    return new Set([...this.#services.checkout().keys(), ...this.#slices.checkout().keys()]);
  }
}

/**
 * `ADDRESS`, ready on another node; `ADDRESS*`, on this node; with ` T` terminating but serving, with ` X`
 * terminating and no longer serving, with ` U` not ready.
 */
function testEndpoint(text: string, nodeName: string): ReturnType<typeof endpoint> {
  const [where, state] = text.split(' ') as [string, string?];
  const isLocal = where.endsWith('*');
  const terminating = state === 'T' || state === 'X';
  return endpoint(isLocal ? where.slice(0, -1) : where, {
    nodeName: isLocal ? nodeName : 'other-node',
    ready: state === undefined,
    serving: state === undefined || state === 'T',
    terminating,
  });
}
