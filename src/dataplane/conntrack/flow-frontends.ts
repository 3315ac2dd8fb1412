import { familyOf, type IpFamily, ipBytes } from '../../base/ip.ts';
import {
  IPPROTO_SCTP,
  IPPROTO_TCP,
  IPPROTO_UDP,
  IPS_SEEN_REPLY,
} from '../../kernel/conntrack/conntrack-attributes.ts';
import type { ConntrackFlow } from '../../kernel/conntrack/conntrack-flow.ts';
import type { FlowQuery } from '../../kernel/conntrack/conntrack-message.ts';
import type { Protocol } from '../../model/service-port.ts';
import { AddressPortTable } from './address-port-table.ts';

/** Where traffic to a ServicePort arrives: an address and port, or a nodePort number. */
export type FlowFrontend = { readonly ip: string; readonly port: number } | { readonly nodePort: number };

/** The frontends of a ServicePort that is gone, or those that it lost. */
export interface RemovedFrontends {
  readonly protocol: Protocol;
  readonly frontends: readonly FlowFrontend[];
}

/** What has to be known of a ServicePort to tell which of its flows are stale. Addresses are canonical. */
export interface FlowServicePort extends RemovedFrontends {
  /** Every endpoint that flows may go to; policies and topology do not matter. */
  readonly endpoints: readonly { readonly ip: string; readonly port: number }[];
}

export interface FlowFrontendsInput {
  readonly family: IpFamily;
  readonly servicePorts: Iterable<FlowServicePort>;
  /** Frontends that were programmed until this sync and are gone now. */
  readonly removed?: Iterable<RemovedFrontends>;
  /** The addresses on which nodePorts are served: a nodePort's number counts only in flows to one of them. */
  readonly nodePortAddresses?: Iterable<string>;
  /**
   * In place of those, where nodePorts are served on all local addresses: the known ones. Translated flows count to
   * whatever address, as upstream has it, since other addresses may be local too; untranslated ones to these alone, for
   * a flow to another host's port of the same number is nobody's business here.
   */
  readonly localAddresses?: Iterable<string>;
}

const PROTOCOL_NUMBERS: Readonly<Record<Protocol, number>> = {
  TCP: IPPROTO_TCP,
  UDP: IPPROTO_UDP,
  SCTP: IPPROTO_SCTP,
};

/**
 * Frontends of one address family, and the decision which flows to them are stale (spec A.4.2). Pure.
 *
 * A stale flow is one that the kernel would go on sending where it should not, because a tracked flow is translated
 * (or not) once and for all:
 *
 * - to a frontend with endpoints: when it goes anywhere else than to one of them. An untranslated flow began before the
 *   frontend was programmed and is stale too.
 * - to a frontend without endpoints, or to one that was removed: when it was translated. Upstream up to 1.36 keeps
 *   these, and a client that never pauses is pinned to a pod that is gone (kubernetes/kubernetes#139628).
 *   An untranslated flow is left alone: new packets of it are judged by the rules, as they should be.
 *
 * Of TCP and SCTP only flows that are still to be opened can be stale, which upstream leaves to their time-out: each
 * SYN that a client sends again renews it (kubernetes/kubernetes#101607). A connection that was ever answered drains.
 *
 * Different from upstream on purpose as well: a flow to a frontend's address and port is judged by that frontend
 * alone, even when its port happens to be another Service's nodePort (upstream deletes it at each sync); and when two
 * ServicePorts claim the same frontend, the endpoints of both are good.
 */
export class FlowFrontends {
  readonly family: IpFamily;
  readonly #byProtocol = new Map<number, ProtocolFrontends>();
  readonly #nodePortAddresses: AddressPortTable | undefined;
  readonly #localAddresses: AddressPortTable | undefined;

  constructor(input: FlowFrontendsInput) {
    const { family, nodePortAddresses, localAddresses } = input;
    this.family = family;
    for (const { protocol, frontends, endpoints } of input.servicePorts) {
      const set = new EndpointSet(family, endpoints);
      for (const frontend of frontends) this.#of(protocol).at(frontend)?.endpoints.push(set);
    }
    for (const { protocol, frontends } of input.removed ?? []) {
      for (const frontend of frontends) this.#of(protocol).at(frontend);
    }
    this.#nodePortAddresses = addressSet(family, nodePortAddresses);
    this.#localAddresses = addressSet(family, localAddresses);
  }

  /** Number of frontends, removed ones included. With none there is no need to look at any flow. */
  get size(): number {
    let size = 0;
    for (const frontends of this.#byProtocol.values()) size += frontends.size;
    return size;
  }

  /** The flows to look at: as few as the kernel can be told. */
  get query(): FlowQuery {
    const { family } = this;
    const protocols = [...this.#byProtocol.keys()];
    return {
      family,
      ...(protocols.length === 1 ? { protocol: protocols[0]! } : {}),
      ...(protocols.includes(IPPROTO_UDP) ? {} : { status: { value: 0, mask: IPS_SEEN_REPLY } }),
    };
  }

  /** Whether the flow has to be deleted. Flows of other protocols and families never have. */
  isStale(flow: ConntrackFlow): boolean {
    if (flow.family !== this.family) return false;
    if (flow.protocol !== IPPROTO_UDP && !flow.isOpening) return false;
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
    const frontends = this.#byProtocol.get(flow.protocol);
    const { destinationAt, destinationPort } = flow.originalDirection;
    const byAddress = frontends?.byAddress(flow.bytes, destinationAt, destinationPort);
    if (byAddress !== undefined) return byAddress;
    const byNodePort = frontends?.byNodePort(destinationPort);
    if (byNodePort === undefined) return undefined;
    const addresses =
      this.#nodePortAddresses ?? (flow.isDestinationTranslated ? undefined : this.#localAddresses);
    return addresses === undefined || addresses.get(flow.bytes, destinationAt, 0) >= 0
      ? byNodePort
      : undefined;
  }

  #of(protocol: Protocol): ProtocolFrontends {
    const number = PROTOCOL_NUMBERS[protocol];
    let frontends = this.#byProtocol.get(number);
    if (frontends === undefined) {
      frontends = new ProtocolFrontends(this.family);
      this.#byProtocol.set(number, frontends);
    }
    return frontends;
  }
}

interface Frontend {
  /** Of each ServicePort that claims the frontend; none when it was removed. */
  readonly endpoints: EndpointSet[];
}

/** The frontends of one protocol. */
class ProtocolFrontends {
  readonly #family: IpFamily;
  readonly #byAddress: AddressPortTable;
  readonly #byNodePort = new Map<number, Frontend>();
  readonly #frontends: Frontend[] = [];

  constructor(family: IpFamily) {
    this.#family = family;
    this.#byAddress = new AddressPortTable(family);
  }

  get size(): number {
    return this.#byAddress.size + this.#byNodePort.size;
  }

  byAddress(bytes: Uint8Array, at: number, port: number): Frontend | undefined {
    const index = this.#byAddress.get(bytes, at, port);
    return index < 0 ? undefined : this.#frontends[index];
  }

  byNodePort(port: number): Frontend | undefined {
    return this.#byNodePort.get(port);
  }

  /** The entry of a frontend, made on first sight; `undefined` for an address of the other family. */
  at(frontend: FlowFrontend): Frontend | undefined {
    if ('nodePort' in frontend) {
      let entry = this.#byNodePort.get(frontend.nodePort);
      if (entry === undefined) {
        entry = { endpoints: [] };
        this.#byNodePort.set(frontend.nodePort, entry);
      }
      return entry;
    }
    if (familyOf(frontend.ip) !== this.#family) return undefined;
    const bytes = ipBytes(frontend.ip);
    let index = this.#byAddress.get(bytes, 0, frontend.port);
    if (index < 0) {
      index = this.#frontends.push({ endpoints: [] }) - 1;
      this.#byAddress.set(bytes, 0, frontend.port, index);
    }
    return this.#frontends[index];
  }
}

/** Endpoints in a form that flows can be compared with. Most Services have no flow at all, so it is made on demand. */
class EndpointSet {
  readonly #family: IpFamily;
  readonly #endpoints: FlowServicePort['endpoints'];
  #table: AddressPortTable | undefined;

  constructor(family: IpFamily, endpoints: FlowServicePort['endpoints']) {
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

function addressSet(family: IpFamily, ips: Iterable<string> | undefined): AddressPortTable | undefined {
  if (ips === undefined) return undefined;
  const table = new AddressPortTable(family);
  for (const ip of ips) if (familyOf(ip) === family) table.setText(ip, 0, 1);
  return table;
}
