import type { Sample } from './scrape-metric.ts';
import { ScrapeMetric } from './scrape-metric.ts';

/** An API object that could not be programmed and is left out, so that the others can be. */
export interface SetAsideObject {
  /** `Service`, `EndpointSlice`, … */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** A stable code, not a message: it becomes a label. */
  readonly reason: string;
}

/** How many objects are named. More broken objects than this have one cause, and the count tells of them. */
export const MAX_NAMED_OBJECTS = 100;

type ObjectLabel = keyof SetAsideObject;

/**
 * Objects set aside: the full number per kind, and the first {@link MAX_NAMED_OBJECTS} by name. The owners of the
 * objects are asked at each scrape; an object reported twice (by both IP families) counts once.
 */
export class SetAsideMetrics {
  readonly count = new ScrapeMetric(
    {
      name: 'fairlead_set_aside_objects',
      help: 'Objects that are left out because they cannot be programmed',
      type: 'gauge',
      labels: ['kind'],
    },
    () => this.#counts(),
  );
  readonly objects = new ScrapeMetric<ObjectLabel>(
    {
      name: 'fairlead_set_aside_object',
      help: `Objects that are left out because they cannot be programmed, by name; at most ${MAX_NAMED_OBJECTS} of them`,
      type: 'gauge',
      labels: ['kind', 'namespace', 'name', 'reason'],
    },
    () => this.#named(),
  );
  readonly #sources = new Set<() => Iterable<SetAsideObject>>();

  /** Adds an owner of such objects; the returned function removes it again. */
  addSource(source: () => Iterable<SetAsideObject>): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** One entry per object; of two reasons the one reported first stays. */
  #collect(): Map<string, SetAsideObject> {
    const found = new Map<string, SetAsideObject>();
    for (const source of this.#sources) {
      for (const object of source()) {
        const key = `${object.kind} ${object.namespace}/${object.name}`;
        if (!found.has(key)) found.set(key, object);
      }
    }
    return found;
  }

  #counts(): Iterable<Sample<'kind'>> {
    const counts = new Map<string, number>([
      ['Service', 0],
      ['EndpointSlice', 0],
    ]);
    for (const { kind } of this.#collect().values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...counts].map(([kind, count]) => [{ kind }, count] as const);
  }

  #named(): Iterable<Sample<ObjectLabel>> {
    const found = this.#collect();
    const keys = [...found.keys()].toSorted().slice(0, MAX_NAMED_OBJECTS);
    return keys.map((key) => [found.get(key)!, 1] as const);
  }
}
