import { familyOf, type IpFamily, ipBytes } from '../../base/ip.ts';
import { IPPROTO_UDP } from '../../kernel/conntrack/conntrack-attributes.ts';
import type { ConntrackFlow } from '../../kernel/conntrack/conntrack-flow.ts';
import { AddressPortTable } from './address-port-table.ts';

/** Where traffic to a UDP ServicePort arrives: an address and port, or a nodePort number. */
export type UdpFrontend = { readonly ip: string; readonly port: number } | { readonly nodePort: number };

/** What has to be known of a UDP ServicePort to tell which of its flows are stale. Addresses are canonical. */
export interface UdpServicePort {
  readonly frontends: readonly UdpFrontend[];
  /** Every endpoint whose serving condition holds; policies and topology do not matter. */
  readonly servingEndpoints: readonly { readonly ip: string; readonly port: number }[];
}

export interface UdpFrontendsInput {
  readonly family: IpFamily;
  readonly servicePorts: Iterable<UdpServicePort>;
  /** Frontends that were programmed until this sync and are gone now. */
  readonly removed?: Iterable<UdpFrontend>;
  /**
   * The addresses on which nodePorts are served. When given, a nodePort's number counts only in flows to one of them;
   * otherwise in flows to any address, as upstream has it.
   */
  readonly nodePortAddresses?: Iterable<string>;
}

/**
 * The UDP frontends of one address family, and the decision which flows to them are stale (spec A.4.2). Pure.
 *
 * A stale flow is one that the kernel would go on sending where it should not, because a tracked flow is translated
 * (or not) once and for all:
 *
 * - to a frontend with serving endpoints: when it goes anywhere else than to one of them. An untranslated flow began
 *   before the frontend was programmed and is stale too.
 * - to a frontend without serving endpoints, or to one that was removed: when it was translated. Upstream up to 1.36
 *   keeps these, and a client that never pauses is pinned to a pod that is gone (kubernetes/kubernetes#139628).
 *   An untranslated flow is left alone: new packets of it are judged by the rules, as they should be.
 *
 * Different from upstream on purpose as well: a flow to a frontend's address and port is judged by that frontend
 * alone, even when its port happens to be another Service's nodePort (upstream deletes it at each sync); and when two
 * ServicePorts claim the same frontend, the endpoints of both are good.
 */
export class UdpFrontends {
  readonly family: IpFamily;
  readonly #byAddress: AddressPortTable;
  readonly #byNodePort = new Map<number, Frontend>();
  readonly #frontends: Frontend[] = [];
  readonly #nodePortAddresses: AddressPortTable | undefined;

  constructor(input: UdpFrontendsInput) {
    const { family } = input;
    this.family = family;
    this.#byAddress = new AddressPortTable(family);
    for (const { frontends, servingEndpoints } of input.servicePorts) {
      const endpoints = new EndpointSet(family, servingEndpoints);
      for (const frontend of frontends) this.#at(frontend)?.endpoints.push(endpoints);
    }
    for (const frontend of input.removed ?? []) this.#at(frontend);
    if (input.nodePortAddresses !== undefined) {
      this.#nodePortAddresses = new AddressPortTable(family);
      for (const ip of input.nodePortAddresses) {
        if (familyOf(ip) === family) this.#nodePortAddresses.setText(ip, 0, 1);
      }
    }
  }

  /** Number of frontends, removed ones included. With none there is no need to look at any flow. */
  get size(): number {
    return this.#byAddress.size + this.#byNodePort.size;
  }

  /** Whether the flow has to be deleted. Flows of other protocols and families never have. */
  isStale(flow: ConntrackFlow): boolean {
    if (flow.protocol !== IPPROTO_UDP || flow.family !== this.family) return false;
    const frontend = this.#frontendOf(flow);
    if (frontend === undefined) return false;
    let isServed = false;
    for (const endpoints of frontend.endpoints) {
      if (endpoints.isEmpty) continue;
      isServed = true;
      if (endpoints.has(flow.bytes, flow.replyDirection.sourceAt, flow.replyDirection.sourcePort))
        return false;
    }
    return isServed || flow.isDestinationTranslated;
  }

  #frontendOf(flow: ConntrackFlow): Frontend | undefined {
    const { destinationAt, destinationPort } = flow.originalDirection;
    const index = this.#byAddress.get(flow.bytes, destinationAt, destinationPort);
    if (index >= 0) return this.#frontends[index];
    const frontend = this.#byNodePort.get(destinationPort);
    if (frontend === undefined || this.#nodePortAddresses === undefined) return frontend;
    return this.#nodePortAddresses.get(flow.bytes, destinationAt, 0) >= 0 ? frontend : undefined;
  }

  /** The entry of a frontend, made on first sight; `undefined` for an address of the other family. */
  #at(frontend: UdpFrontend): Frontend | undefined {
    if ('nodePort' in frontend) {
      let entry = this.#byNodePort.get(frontend.nodePort);
      if (entry === undefined) {
        entry = { endpoints: [] };
        this.#byNodePort.set(frontend.nodePort, entry);
      }
      return entry;
    }
    if (familyOf(frontend.ip) !== this.family) return undefined;
    const bytes = ipBytes(frontend.ip);
    let index = this.#byAddress.get(bytes, 0, frontend.port);
    if (index < 0) {
      index = this.#frontends.push({ endpoints: [] }) - 1;
      this.#byAddress.set(bytes, 0, frontend.port, index);
    }
    return this.#frontends[index];
  }
}

interface Frontend {
  /** Of each ServicePort that claims the frontend; none when it was removed. */
  readonly endpoints: EndpointSet[];
}

/** Endpoints in a form that flows can be compared with. Most Services have no flow at all, so it is made on demand. */
class EndpointSet {
  readonly #family: IpFamily;
  readonly #endpoints: UdpServicePort['servingEndpoints'];
  #table: AddressPortTable | undefined;

  constructor(family: IpFamily, endpoints: UdpServicePort['servingEndpoints']) {
    this.#family = family;
    this.#endpoints = endpoints;
  }

  get isEmpty(): boolean {
    return this.#endpoints.length === 0;
  }

  has(bytes: Uint8Array, at: number, port: number): boolean {
    this.#table ??= this.#compile();
    return this.#table.get(bytes, at, port) >= 0;
  }

  #compile(): AddressPortTable {
    const table = new AddressPortTable(this.#family, this.#endpoints.length);
    for (const { ip, port } of this.#endpoints) if (familyOf(ip) === this.#family) table.setText(ip, port, 1);
    return table;
  }
}
