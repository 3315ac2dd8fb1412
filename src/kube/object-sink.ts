/**
 * Where a source delivers the objects of one kind. Calls come one at a time, in the order of the source's events.
 *
 * - `set` is called with each object that exists, new or changed. It may be called again with an equal object.
 * - `delete` is called for an object that is gone; deleting one that was never set is harmless.
 * - `synced` is called once, when everything that existed at the start has been delivered. After a relist the source
 *   calls `set` and `delete` for the differences only.
 *
 * A sink never throws: an object it cannot use is its own concern.
 */
export interface ObjectSink<T> {
  set(object: T): void;
  delete(namespace: string, name: string): void;
  synced(): void;
}
