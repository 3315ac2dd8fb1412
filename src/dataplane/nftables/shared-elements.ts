import type { Protocol } from '../../model/service-port.ts';
import type { ElementSink } from './service-elements.ts';

/**
 * Counts who needs an element that several ServicePorts share, so that it is added with the first and deleted with the
 * last. Keys are made by {@link clusterIPKey} and {@link hairpinKey}.
 */
export class SharedElements {
  readonly #counts = new Map<string, number>();

  /** Adds `change` users; returns 'added' or 'deleted' when the element comes to be needed, or ceases to be. */
  change(key: string, change: number): 'added' | 'deleted' | undefined {
    const before = this.#counts.get(key) ?? 0;
    const after = before + change;
    if (after > 0) this.#counts.set(key, after);
    else this.#counts.delete(key);
    if (before === 0 && after > 0) return 'added';
    return before > 0 && after <= 0 ? 'deleted' : undefined;
  }

  /** Elements that are needed, each once. */
  get keys(): Iterable<string> {
    return this.#counts.keys();
  }

  get size(): number {
    return this.#counts.size;
  }
}

export const clusterIPKey = (ip: string): string => ip;
export const hairpinKey = (ip: string, protocol: Protocol, port: number): string =>
  `${ip} ${protocol} ${port}`;

/** Passes the element that a key stands for on to a sink. */
export function visitShared(key: string, sink: Pick<ElementSink, 'clusterIP' | 'hairpin'>): void {
  const [ip, protocol, port] = key.split(' ');
  if (protocol === undefined) sink.clusterIP(ip!);
  else sink.hairpin(ip!, protocol as Protocol, Number(port));
}
