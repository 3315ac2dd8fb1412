import { formatCidr, type IpFamily, parseCidr } from '../base/ip.ts';
import type { ObjectSink } from '../kube/object-sink.ts';
import type { ServiceCIDR } from '../kube/service-cidr.ts';

/** The networks of all ServiceCIDR objects. Two objects may name the same network: it goes with the last of them. */
export class ServiceNetworks implements ObjectSink<ServiceCIDR> {
  readonly #networks = new Map<string, readonly string[]>();
  readonly #onChange: () => void;
  readonly #synced = Promise.withResolvers<void>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  set(object: ServiceCIDR): void {
    this.#networks.set(object.name, object.cidrs);
    this.#onChange();
  }

  delete(_namespace: string, name: string): void {
    if (this.#networks.delete(name)) this.#onChange();
  }

  synced(): void {
    this.#synced.resolve();
  }

  /** Resolves when all objects that exist have been delivered. */
  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Networks of one family in canonical form, sorted, each once. */
  ofFamily(family: IpFamily): readonly string[] {
    const found = new Set<string>();
    for (const texts of this.#networks.values()) {
      for (const text of texts) {
        const cidr = parseCidr(text);
        if (cidr?.family === family) found.add(formatCidr(cidr));
      }
    }
    return [...found].sort();
  }
}
