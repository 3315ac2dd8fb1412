import { randomUUID } from 'node:crypto';
import { type KubeObject, objectKey } from './kube-object.ts';
import { type Resource, type ResourceName, resourceOfKind, resources } from './resources.ts';
import { StoredObject } from './stored-object.ts';

/** A change as the store keeps it in its history. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resourceVersion: number;
  /** The object after the change; for DELETED its last state under the version of the deletion. */
  readonly current: StoredObject;
  readonly previous: StoredObject | undefined;
}

export type StoreListener = (event: StoreEvent) => void;

interface Table {
  readonly resource: Resource;
  readonly objects: Map<string, StoredObject>;
  /** Keys in listing order; rebuilt when an object was added or deleted. */
  sorted: readonly StoredObject[] | undefined;
  history: StoreEvent[];
  /** Events up to this version are forgotten: a watch from an older version is told 410. */
  compactedAt: number;
  lastChange: number;
  readonly listeners: Set<StoreListener>;
}

const historyLimit = 20_000;

/** The objects of a cluster under one growing resource version, with the history that watches and old lists need. */
export class ObjectStore {
  #resourceVersion: number;
  readonly #tables = new Map<ResourceName, Table>();

  /** `resourceVersion` is the one of the empty store. */
  constructor(resourceVersion = 1) {
    this.#resourceVersion = resourceVersion;
    for (const resource of resources) {
      this.#tables.set(resource.name, {
        resource,
        objects: new Map(),
        sorted: undefined,
        history: [],
        compactedAt: 0,
        lastChange: resourceVersion,
        listeners: new Set(),
      });
    }
  }

  get resourceVersion(): number {
    return this.#resourceVersion;
  }

  /** Version of the last change of a resource: what a watch cache of that resource has seen. */
  lastChangeOf(resource: ResourceName): number {
    const { lastChange, compactedAt } = this.#table(resource);
    return Math.max(lastChange, compactedAt);
  }

  get(resource: ResourceName, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#table(resource).objects.get(objectKey(namespace, name));
  }

  /** All objects of a resource in listing order. */
  list(resource: ResourceName): readonly StoredObject[] {
    const table = this.#table(resource);
    table.sorted ??= [...table.objects.values()].sort(byKey);
    return table.sorted;
  }

  /** The objects as they were at a version, or `undefined` when history does not reach back that far. */
  listAt(resource: ResourceName, resourceVersion: number): readonly StoredObject[] | undefined {
    const table = this.#table(resource);
    if (resourceVersion >= table.lastChange) return this.list(resource);
    if (resourceVersion < table.compactedAt) return undefined;
    const objects = new Map(table.objects);
    for (const event of table.history.toReversed()) {
      if (event.resourceVersion <= resourceVersion) break;
      if (event.previous === undefined) objects.delete(event.current.key);
      else objects.set(event.current.key, event.previous);
    }
    return [...objects.values()].sort(byKey);
  }

  /** Changes after a version in order, or `undefined` when some of them are forgotten. */
  eventsAfter(resource: ResourceName, resourceVersion: number): readonly StoreEvent[] | undefined {
    const { history, compactedAt } = this.#table(resource);
    if (resourceVersion < compactedAt) return undefined;
    const first = history.findIndex((event) => event.resourceVersion > resourceVersion);
    return first < 0 ? [] : history.slice(first);
  }

  /**
   * Fills the store without history: nobody can watch from before the load. With `keepVersions` the objects keep the
   * resourceVersion they come with. Throws RangeError on an unknown kind.
   */
  load(
    objects: Iterable<KubeObject>,
    { keepVersions = false }: { readonly keepVersions?: boolean } = {},
  ): void {
    for (const object of objects) {
      const version = Number(object.metadata.resourceVersion);
      this.#put(object, keepVersions && version > 0 ? version : this.#resourceVersion + 1);
    }
    for (const table of this.#tables.values()) {
      table.history = [];
      table.compactedAt = table.lastChange;
    }
  }

  /** Creates or replaces an object under a new version. Throws RangeError on a kind the stand-in does not serve. */
  apply(object: KubeObject): StoredObject {
    return this.#put(object, this.#resourceVersion + 1);
  }

  /** Deletes an object; returns whether it was there. */
  delete(resource: ResourceName, namespace: string | undefined, name: string): boolean {
    const table = this.#table(resource);
    const previous = table.objects.get(objectKey(namespace, name));
    if (previous === undefined) return false;
    table.objects.delete(previous.key);
    table.sorted = undefined;
    const last = previous.at(++this.#resourceVersion);
    this.#record(table, 'DELETED', last, previous);
    return true;
  }

  /** Forgets all history, as a compaction does: every version handed out so far is too old to watch from. */
  expireHistory(): void {
    this.#resourceVersion += 1;
    for (const table of this.#tables.values()) {
      table.history = [];
      table.compactedAt = this.#resourceVersion;
    }
  }

  /**
   * Goes back to an older version, as a restore from a backup does. Where history reaches back that far, the objects
   * are those of that time; otherwise the present ones stay, numbered anew up to `resourceVersion`.
   */
  rewind(resourceVersion: number): void {
    for (const table of this.#tables.values()) {
      const then = this.listAt(table.resource.name, resourceVersion) ?? this.list(table.resource.name);
      table.objects.clear();
      for (const stored of then) {
        const version = Math.min(stored.resourceVersion, resourceVersion);
        const kept = version === stored.resourceVersion ? stored : stored.at(version);
        table.objects.set(stored.key, kept);
      }
      table.sorted = undefined;
      table.history = table.history.filter((event) => event.resourceVersion <= resourceVersion);
      table.lastChange = Math.min(table.lastChange, resourceVersion);
      table.compactedAt = Math.min(table.compactedAt, resourceVersion);
    }
    this.#resourceVersion = resourceVersion;
  }

  /** Calls `listener` with every later change of a resource; the returned function ends that. */
  subscribe(resource: ResourceName, listener: StoreListener): () => void {
    const { listeners } = this.#table(resource);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #put(object: KubeObject, resourceVersion: number): StoredObject {
    const resource = resourceOfKind(object.kind);
    if (resource === undefined) throw new RangeError(`the stand-in does not serve kind ${object.kind}`);
    const table = this.#table(resource.name);
    const namespace = resource.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
    const previous = table.objects.get(objectKey(namespace, object.metadata.name));
    const generation = object.metadata.generation ?? (previous?.object.metadata.generation ?? 0) + 1;
    const metadata = {
      ...object.metadata,
      ...(namespace === undefined ? {} : { namespace }),
      uid: object.metadata.uid ?? previous?.object.metadata.uid ?? randomUUID(),
      creationTimestamp:
        object.metadata.creationTimestamp ??
        previous?.object.metadata.creationTimestamp ??
        `${new Date().toISOString().slice(0, 19)}Z`,
      // Services, Nodes and ServiceCIDRs carry no generation (see test/recordings/apiserver).
      ...(resource.kind === 'EndpointSlice' ? { generation } : {}),
    };
    const stored = new StoredObject(resource, { ...object, metadata }, resourceVersion);
    this.#resourceVersion = Math.max(this.#resourceVersion, resourceVersion);
    table.objects.set(stored.key, stored);
    table.sorted = undefined;
    this.#record(table, previous === undefined ? 'ADDED' : 'MODIFIED', stored, previous);
    return stored;
  }

  #table(resource: ResourceName): Table {
    return this.#tables.get(resource)!;
  }

  #record(
    table: Table,
    type: StoreEvent['type'],
    current: StoredObject,
    previous: StoredObject | undefined,
  ): void {
    const event: StoreEvent = { type, resourceVersion: current.resourceVersion, current, previous };
    table.lastChange = Math.max(table.lastChange, current.resourceVersion);
    table.history.push(event);
    if (table.history.length > historyLimit * 2) {
      const dropped = table.history.splice(0, historyLimit);
      table.compactedAt = dropped.at(-1)!.resourceVersion;
    }
    for (const listener of table.listeners) listener(event);
  }
}

function byKey(a: StoredObject, b: StoredObject): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
