import type { IpFamily } from '../base/ip.ts';
import type * as kube from '../kube/endpoint-slice.ts';
import { type Endpoint, mergeEndpoints, reportUnusableEndpoints, sliceEndpoints } from './endpoint.ts';
import { type ReportProblem, serviceKey } from './service-port.ts';

/** Whether a Service with changed slices has, or had, a port of protocol UDP: then its conntrack entries need a look. */
export interface EndpointChange {
  readonly hasUdp: boolean;
}

/** What is kept of a slice: the API object itself is let go, so that a hundred thousand endpoints are held once. */
interface SliceEntry {
  readonly name: string;
  readonly resourceVersion: string;
  readonly lastChangeTriggerTime: string;
  readonly ports: readonly {
    readonly name: string;
    readonly protocol: string;
    readonly endpoints: readonly Endpoint[];
  }[];
}

/**
 * The EndpointSlices of one family by Service: what has been handed to a sync, and what changed since (spec A.2.2).
 */
export class EndpointSliceCache {
  readonly #family: IpFamily;
  readonly #nodeName: string;
  readonly #report: ReportProblem;
  /** Service → slices in the order of their names. */
  readonly #applied = new Map<string, readonly SliceEntry[]>();
  /** Service → slice name → new state, `undefined` for a slice that is gone. */
  readonly #pending = new Map<string, Map<string, SliceEntry | undefined>>();
  #pendingCount = 0;
  /** Slice (`namespace/name`) → Service that its label names, and those that it named before, which are few. */
  readonly #owner = new Map<string, string>();
  readonly #formerOwners = new Map<string, readonly string[]>();

  constructor(options: { family: IpFamily; nodeName: string; report: ReportProblem }) {
    this.#family = options.family;
    this.#nodeName = options.nodeName;
    this.#report = options.report;
  }

  /** Notes a slice that was added or changed; returns the Services whose slices are now pending because of it. */
  update(slice: kube.EndpointSlice): readonly string[] {
    const accepted = slice.addressType === this.#family && slice.serviceName !== '';
    if (!accepted) return this.delete(slice.namespace, slice.name);
    const service = serviceKey(slice.namespace, slice.serviceName);
    const sliceKey = serviceKey(slice.namespace, slice.name);
    this.#setOwner(sliceKey, service);
    const known = this.#known(service, slice.name);
    if (
      known !== undefined &&
      slice.resourceVersion !== '' &&
      known.resourceVersion === slice.resourceVersion
    )
      return [];
    const entry = this.#entryOf(slice);
    // Without versions the content has to tell.
    if (
      known !== undefined &&
      slice.resourceVersion === '' &&
      JSON.stringify(known) === JSON.stringify(entry)
    )
      return [];
    reportUnusableEndpoints(slice, this.#family, this.#report);
    this.#note(service, slice.name, entry);
    return [service];
  }

  /** Whether the last noted version of a slice was of this family, and some Service's. */
  has(namespace: string, name: string): boolean {
    return this.#owner.has(serviceKey(namespace, name));
  }

  /** The trigger time that the last noted version of a slice carries, `''` where there is none. */
  lastChangeTriggerTime(namespace: string, serviceName: string, name: string): string {
    return this.#known(serviceKey(namespace, serviceName), name)?.lastChangeTriggerTime ?? '';
  }

  /** Notes a slice that is gone; deleting an unknown one changes nothing. */
  delete(namespace: string, name: string): readonly string[] {
    const sliceKey = serviceKey(namespace, name);
    const owner = this.#owner.get(sliceKey);
    if (owner === undefined) return [];
    const owners = [owner, ...(this.#formerOwners.get(sliceKey) ?? [])];
    this.#owner.delete(sliceKey);
    this.#formerOwners.delete(sliceKey);
    const changed = owners.filter((service) => this.#known(service, name) !== undefined);
    for (const service of changed) this.#note(service, name, undefined);
    return changed;
  }

  /** Number of slices with a pending change. */
  get pendingCount(): number {
    return this.#pendingCount;
  }

  /** Takes all pending changes over and returns the Services they belong to (spec A.2.2, A.2.4). */
  checkout(): Map<string, EndpointChange> {
    const changes = new Map<string, EndpointChange>();
    for (const [service, pending] of this.#pending) {
      const before = this.#applied.get(service) ?? none;
      const unchanged = before.filter((slice) => !pending.has(slice.name));
      const changed = [...pending.values()].filter((slice) => slice !== undefined);
      const after = [...unchanged, ...changed].sort(byName);
      if (after.length === 0) this.#applied.delete(service);
      else this.#applied.set(service, after);
      changes.set(service, { hasUdp: before.some(servesUdp) || after.some(servesUdp) });
    }
    this.#pending.clear();
    this.#pendingCount = 0;
    return changes;
  }

  /** The endpoints of one ServicePort as of the last checkout. */
  endpoints(service: string, portName: string, protocol: string): readonly Endpoint[] {
    const lists: (readonly Endpoint[])[] = [];
    for (const slice of this.#applied.get(service) ?? none) {
      for (const port of slice.ports) {
        if (port.name === portName && port.protocol === protocol) lists.push(port.endpoints);
      }
    }
    return mergeEndpoints(lists);
  }

  /** Number of distinct addresses on this node that are ready on any port of the Service (spec A.2.4). */
  localReadyAddresses(service: string): number {
    const addresses = new Set<string>();
    for (const slice of this.#applied.get(service) ?? none) {
      for (const { endpoints } of slice.ports) {
        for (const endpoint of endpoints)
          if (endpoint.isLocal && endpoint.isReady) addresses.add(endpoint.ip);
      }
    }
    return addresses.size;
  }

  /** Ports without a name or number are passed over (spec A.2.3). */
  #entryOf({
    name,
    resourceVersion,
    lastChangeTriggerTime,
    ports,
    endpoints,
  }: kube.EndpointSlice): SliceEntry {
    const selection = { family: this.#family, nodeName: this.#nodeName };
    const entries: SliceEntry['ports'][number][] = [];
    for (const { name: portName, port, protocol } of ports) {
      if (portName === undefined || port === undefined || port <= 0 || port > 65_535) continue;
      entries.push({ name: portName, protocol, endpoints: sliceEndpoints(endpoints, port, selection) });
    }
    return { name, resourceVersion, lastChangeTriggerTime, ports: entries };
  }

  /**
   * A slice whose label comes to name another Service stays with the old one too, in its last version, as in kube-proxy
   * (scenario slices-label); unlike there, it leaves both when it is deleted.
   */
  #setOwner(sliceKey: string, service: string): void {
    const before = this.#owner.get(sliceKey);
    this.#owner.set(sliceKey, service);
    if (before === undefined || before === service) return;
    const former = this.#formerOwners.get(sliceKey) ?? [];
    this.#formerOwners.set(sliceKey, [...former.filter((other) => other !== service), before]);
  }

  #known(service: string, name: string): SliceEntry | undefined {
    const pending = this.#pending.get(service);
    if (pending?.has(name)) return pending.get(name);
    return this.#applied.get(service)?.find((slice) => slice.name === name);
  }

  #note(service: string, name: string, slice: SliceEntry | undefined): void {
    const pending = this.#pending.get(service) ?? new Map<string, SliceEntry | undefined>();
    this.#pending.set(service, pending);
    if (!pending.has(name)) this.#pendingCount++;
    pending.set(name, slice);
  }
}

const none: readonly never[] = Object.freeze([]);

function byName(a: SliceEntry, b: SliceEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function servesUdp(slice: SliceEntry): boolean {
  return slice.ports.some((port) => port.protocol === 'UDP');
}
