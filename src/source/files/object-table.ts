import type { Logger } from '../../base/logger.ts';
import type { ClusterSinks } from '../../kube/cluster-sinks.ts';
import type { JsonObject } from '../../kube/json/json-fields.ts';
import type { KindedObject } from './object-kinds.ts';
import type { ManifestObject } from './read-manifest.ts';

interface Claim {
  readonly file: string;
  readonly object: ManifestObject;
}

/**
 * Which file says what about which object. Where several files name the same object, the first of them by name is
 * followed; the others are named in one log line each and take over when that one no longer names it. What is in force
 * goes to the sinks, filtered by the selectors that an API server would have been asked with.
 */
export class ObjectTable {
  readonly #sinks: ClusterSinks;
  readonly #logger: Logger;
  /** Deliver only this Node; `undefined` delivers all. */
  readonly #nodeName: string | undefined;
  /** Claims on each object, in the order of the files' names. */
  readonly #claims = new Map<string, readonly Claim[]>();
  readonly #byFile = new Map<string, ReadonlyMap<string, ManifestObject>>();
  /** Objects that several files name, and the files of those that were logged. */
  readonly #contested = new Set<string>();
  readonly #loggedConflicts = new Map<string, readonly string[]>();
  /** Version of each object as the sinks have it. */
  readonly #delivered = new Map<string, string>();

  constructor(sinks: ClusterSinks, logger: Logger, nodeName: string | undefined) {
    this.#sinks = sinks;
    this.#logger = logger;
    this.#nodeName = nodeName;
  }

  /** What a file says at present. */
  objectsOf(file: string): ReadonlyMap<string, ManifestObject> {
    return this.#byFile.get(file) ?? new Map();
  }

  /** Takes what a file says now in place of what it said before. */
  replace(file: string, objects: ReadonlyMap<string, ManifestObject>): void {
    const before = this.objectsOf(file);
    if (objects.size === 0) this.#byFile.delete(file);
    else this.#byFile.set(file, objects);
    for (const [key, object] of before) {
      if (!objects.has(key)) this.#claim(key, file, undefined, object.kinded);
    }
    for (const [key, object] of objects) {
      if (before.get(key)?.version !== object.version) this.#claim(key, file, object, object.kinded);
    }
  }

  /** Logs each file that names an object in vain, once as long as that stays so. */
  logConflicts(): void {
    for (const key of this.#contested) {
      const [winner, ...losers] = this.#claims.get(key) ?? [];
      const logged = this.#loggedConflicts.get(key);
      const files = losers.map(({ file }) => file);
      if (losers.length === 0) {
        this.#contested.delete(key);
        this.#loggedConflicts.delete(key);
      } else if (logged?.join('/') !== [winner!.file, ...files].join('/')) {
        this.#loggedConflicts.set(key, [winner!.file, ...files]);
        for (const { file, object } of losers) this.#logConflict(key, winner!, `${file}:${object.line}`);
      }
    }
  }

  #logConflict(key: string, followed: Claim, ignored: string): void {
    this.#logger.warn('Object is in two manifest files, the first file by name is followed', {
      object: key,
      followed: `${followed.file}:${followed.object.line}`,
      ignored,
    });
  }

  #claim(key: string, file: string, object: ManifestObject | undefined, last: KindedObject): void {
    const before = this.#claims.get(key) ?? [];
    const others = before.filter((claim) => claim.file !== file);
    const claims = object === undefined ? others : [...others, { file, object }].sort(byFileName);
    const [winner] = claims;
    if (winner === undefined) this.#claims.delete(key);
    else this.#claims.set(key, claims);
    if (claims.length > 1) this.#contested.add(key);

    if (winner !== undefined && this.#isSelected(winner.object)) {
      if (this.#delivered.get(key) === winner.object.version) return;
      this.#delivered.set(key, winner.object.version);
      this.#set(winner.object.kinded);
      this.#warnWithoutAddress(winner);
    } else if (this.#delivered.delete(key)) {
      this.#delete(last);
    }
  }

  #warnWithoutAddress({ file, object }: Claim): void {
    if (object.kinded.kind !== 'Service') return;
    const { type, clusterIP } = object.kinded.object;
    if (type === 'ExternalName' || clusterIP !== '') return;
    this.#logger.warn('Service has no clusterIP and is not served, manifests must name one', {
      object: object.key,
      manifest: `${file}:${object.line}`,
    });
  }

  /** The selectors of the watches (operations 3.8), on the labels as written. */
  #isSelected({ kinded, labels }: ManifestObject): boolean {
    switch (kinded.kind) {
      case 'Service':
        return (
          !hasLabel(labels, 'service.kubernetes.io/service-proxy-name') && kinded.object.clusterIP !== 'None'
        );
      case 'EndpointSlice':
        return !hasLabel(labels, 'service.kubernetes.io/headless');
      case 'Node':
        return this.#nodeName === undefined || kinded.object.name === this.#nodeName;
      case 'ServiceCIDR':
        return true;
    }
  }

  #set(kinded: KindedObject): void {
    const { services, endpointSlices, nodes, serviceCIDRs } = this.#sinks;
    switch (kinded.kind) {
      case 'Service':
        services.set(kinded.object);
        break;
      case 'EndpointSlice':
        endpointSlices.set(kinded.object);
        break;
      case 'Node':
        nodes.set(kinded.object);
        break;
      case 'ServiceCIDR':
        serviceCIDRs.set(kinded.object);
        break;
    }
  }

  #delete({ kind, object }: KindedObject): void {
    const { services, endpointSlices, nodes, serviceCIDRs } = this.#sinks;
    const sink = { Service: services, EndpointSlice: endpointSlices, Node: nodes, ServiceCIDR: serviceCIDRs }[
      kind
    ];
    sink.delete('namespace' in object ? object.namespace : '', object.name);
  }
}

function hasLabel(labels: JsonObject, key: string): boolean {
  return Object.hasOwn(labels, key);
}

function byFileName(a: Claim, b: Claim): number {
  return a.file < b.file ? -1 : 1;
}
