import type { NftMap, NftSet } from '../../kernel/nftables/objects.ts';
import { PackedElements } from '../../kernel/nftables/packed-elements.ts';
import type { Verdict } from '../../kernel/nftables/verdict.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { Protocol } from '../../model/service-port.ts';
import { PROTOCOL_NUMBERS } from './family-terms.ts';
import { SETS, type SetName } from './names.ts';
import type { ElementSink, EndpointMap, ServiceVerdictMap } from './service-elements.ts';

/** Writes elements as rows in the kernel's layout, one list of rows for each set. */
export class ElementTable implements ElementSink {
  readonly #sets: ReadonlyMap<SetName, NftSet | NftMap>;
  readonly #rows = new Map<SetName, PackedElements>();

  constructor(sets: ReadonlyMap<SetName, NftSet | NftMap>) {
    this.#sets = sets;
  }

  /** Sets that have rows, in the order in which they were first written to. */
  get rows(): ReadonlyMap<SetName, PackedElements> {
    return this.#rows;
  }

  clusterIP(ip: string): void {
    this.#begin(SETS.clusterIPs).address(ip);
  }

  hairpin(ip: string, protocol: Protocol, port: number): void {
    this.#begin(SETS.hairpin).address(ip).address(ip).protocol(PROTOCOL_NUMBERS[protocol]).port(port);
  }

  verdict(
    map: ServiceVerdictMap,
    ip: string,
    protocol: Protocol,
    port: number,
    verdict: Verdict,
    comment: string,
  ): void {
    this.#beginFrontend(map, ip, protocol, port).verdict(verdict).comment(comment);
  }

  endpoint(
    map: EndpointMap,
    ip: string,
    protocol: Protocol,
    port: number,
    slot: number,
    target: Endpoint,
  ): void {
    this.#beginFrontend(map, ip, protocol, port).number(slot).address(target.ip).port(target.port);
  }

  #beginFrontend(set: SetName, ip: string, protocol: Protocol, port: number): PackedElements {
    const row = this.#begin(set);
    if (ip !== '') row.address(ip);
    return row.protocol(PROTOCOL_NUMBERS[protocol]).port(port);
  }

  #begin(set: SetName): PackedElements {
    let rows = this.#rows.get(set);
    if (rows === undefined) {
      rows = PackedElements.for(this.#sets.get(set)!);
      this.#rows.set(set, rows);
    }
    return rows.begin();
  }
}
