import { type KubeObject, objectKey } from '../../kube/kind-decoder.ts';
import type { ObjectSink } from '../../kube/object-sink.ts';
import type { BadObject } from '../../kube/watch-event.ts';

/**
 * Knows which objects a sink has, and in which version, so that listing everything anew costs it only the differences.
 * While a list is being read nothing is deleted; a list that is given up leaves the sink as it is.
 */
export class KnownObjects<T extends KubeObject> {
  readonly #sink: ObjectSink<T>;
  readonly #versions = new Map<string, string>();
  /** Keys that the list has shown so far; undefined outside a list. */
  #listed: Set<string> | undefined;
  #trustVersions = true;
  #isSynced = false;

  constructor(sink: ObjectSink<T>) {
    this.#sink = sink;
  }

  get size(): number {
    return this.#versions.size;
  }

  /**
   * A list of everything begins; one that was begun before is given up. With `trustVersions` an object of the version
   * that the sink has is not delivered again; without (the server's history went back) all are.
   */
  beginList(trustVersions: boolean): void {
    this.#listed = new Set();
    this.#trustVersions = trustVersions;
  }

  /** Everything has been listed: what was not seen is gone. The first time the sink is told that it has everything. */
  endList(): void {
    const listed = this.#listed ?? new Set();
    this.#listed = undefined;
    for (const key of [...this.#versions.keys()]) if (!listed.has(key)) this.#remove(key);
    this.markSynced();
  }

  /** An object exists in this version. */
  set(object: T): void {
    const key = objectKey(object);
    const isKnown = this.#versions.get(key) === object.resourceVersion;
    this.#listed?.add(key);
    if (isKnown && (this.#listed === undefined || this.#trustVersions)) return;
    this.#versions.set(key, object.resourceVersion);
    this.#sink.set(object);
  }

  /** An object exists but cannot be used: what the sink has of it stays. */
  keep(bad: BadObject): void {
    if (bad.name !== '') this.#listed?.add(objectKey(bad));
  }

  delete(object: { readonly namespace?: string; readonly name: string }): void {
    const key = objectKey(object);
    this.#listed?.delete(key);
    this.#remove(key);
  }

  /** Tells the sink, once, that it has everything. */
  markSynced(): void {
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#sink.synced();
  }

  #remove(key: string): void {
    if (!this.#versions.delete(key)) return;
    const slash = key.indexOf('/');
    this.#sink.delete(slash < 0 ? '' : key.slice(0, slash), key.slice(slash + 1));
  }
}
