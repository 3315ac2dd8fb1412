import { mergePatch } from './merge-patch.ts';
import type { ObjectFeed } from './object-feed.ts';
import type { KubeObject, ObjectReference } from './scenario.ts';

/** The objects of a running replay: what the feed has been told so far. */
export class ObjectWorld {
  readonly #feed: ObjectFeed;
  readonly #objects = new Map<string, KubeObject>();

  constructor(feed: ObjectFeed) {
    this.#feed = feed;
  }

  /** All objects, for reports. */
  objects(): KubeObject[] {
    return [...this.#objects.values()];
  }

  async apply(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      this.#objects.set(key({ kind: object.kind, ...object.metadata }), object);
      await this.#feed.put(object);
    }
  }

  /** Throws when the object does not exist: the scenario would be wrong. */
  async patch(reference: ObjectReference, patch: unknown): Promise<void> {
    const object = this.#objects.get(key(reference));
    if (object === undefined) throw new Error(`scenario patches ${key(reference)}, which does not exist`);
    await this.apply([mergePatch(object, patch) as KubeObject]);
  }

  /** Throws when the object does not exist: the scenario would be wrong. */
  async delete(reference: ObjectReference): Promise<void> {
    if (!this.#objects.delete(key(reference)))
      throw new Error(`scenario deletes ${key(reference)}, which does not exist`);
    await this.#feed.remove(reference);
  }
}

function key({ kind, namespace, name }: ObjectReference): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
