import type { KubeObject, ObjectReference } from '../replay/scenario.ts';
import { standingObjects } from '../replay/standing-objects.ts';
import type { Topology } from '../testbed/topology.ts';
import type { Random } from './random.ts';
import {
  drawService,
  redrawService,
  SERVICES,
  type ServiceParameters,
  serviceObject,
} from './random-service.ts';
import { drawOwner, drawSlice, SLICES, type SliceId, sliceName } from './random-slice.ts';

/** How the proxy of a world is configured, in the terms of what it decides. */
export interface WorldConfig {
  readonly detectLocal: 'ClusterCIDR' | 'NodeCIDR' | 'bridge' | 'prefix' | 'none';
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  /** null: the default of the mode. */
  readonly nodePortAddresses: readonly string[] | null;
  readonly localhostNodePorts: boolean;
}

/** A change of the objects, in the order in which it is made. */
export type WorldChange =
  | { readonly apply: KubeObject }
  | { readonly delete: ObjectReference & { readonly namespace: string } };

export function drawConfig(random: Random): WorldConfig {
  return {
    detectLocal: random.weighted([
      [4, 'ClusterCIDR'],
      [1, 'NodeCIDR'],
      [1, 'bridge'],
      [1, 'prefix'],
      [1, 'none'],
    ]),
    masqueradeAll: random.chance(0.15),
    masqueradeBit: random.pick([14, 14, 0, 31]),
    nodePortAddresses: random.weighted<WorldConfig['nodePortAddresses']>([
      [3, null],
      [1, ['primary']],
      [1, ['0.0.0.0/0', '::/0']],
      [1, ['172.31.1.0/24', 'fd00:31::/32']],
      [1, ['10.244.1.0/24']],
    ]),
    localhostNodePorts: random.chance(0.7),
  };
}

/** A few Services and their slices, and how they change at random. */
export class RandomWorld {
  readonly #random: Random;
  readonly #topology: Topology;
  readonly #services = new Map<number, ServiceParameters>();
  readonly #slices = new Set<string>();
  /** A slice stays with its owner: what becomes of one that changes hands depends on the past (see slices-label). */
  readonly #owners = new Map<string, number>();

  constructor(random: Random, topology: Topology) {
    this.#random = random;
    this.#topology = topology;
  }

  /** Everything there is at first, in random order. */
  begin(): WorldChange[] {
    const changes: WorldChange[] = [this.#node()];
    for (let index = 0; index < SERVICES; index++) {
      changes.push(...this.#changeService(index));
      for (const family of ['IPv4', 'IPv6'] as const) {
        changes.push(...this.#changeSlice({ service: index, family, number: 0 }));
        if (this.#random.chance(0.4))
          changes.push(...this.#changeSlice({ service: index, family, number: 1 }));
      }
    }
    return this.#random.some(changes, changes.length);
  }

  /** Some changes; now and then many. */
  change(): WorldChange[] {
    const random = this.#random;
    const count = random.weighted([
      [2, 1],
      [4, 3],
      [3, 8],
      [1, 25],
    ]);
    const changes: WorldChange[] = [];
    for (let i = 0; i < count; i++) {
      const service = random.integer(0, SERVICES - 1);
      const kind = random.weighted([
        [4, 'service'],
        [6, 'slice'],
        [0.6, 'node'],
      ]);
      if (kind === 'service') changes.push(...this.#changeService(service));
      else if (kind === 'node') changes.push(this.#node());
      else {
        const family = random.pick(['IPv4', 'IPv6'] as const);
        changes.push(...this.#changeSlice({ service, family, number: random.integer(0, SLICES - 1) }));
      }
    }
    return changes;
  }

  #changeService(index: number): WorldChange[] {
    const before = this.#services.get(index);
    if (before !== undefined && this.#random.chance(0.15)) {
      this.#services.delete(index);
      return [{ delete: { kind: 'Service', ...nameOf(serviceObject(index, before)) } }];
    }
    const after =
      before === undefined || this.#random.chance(0.2)
        ? drawService(this.#random, index)
        : redrawService(this.#random, index, before);
    this.#services.set(index, after);
    return [{ apply: serviceObject(index, after) }];
  }

  #changeSlice(id: SliceId): WorldChange[] {
    const name = sliceName(id);
    if (this.#slices.has(name) && this.#random.chance(0.2)) {
      this.#slices.delete(name);
      return [{ delete: { kind: 'EndpointSlice', namespace: 'default', name } }];
    }
    this.#slices.add(name);
    const owner = this.#owners.get(name) ?? drawOwner(this.#random, id);
    this.#owners.set(name, owner);
    const service = this.#services.get(owner) ?? drawService(this.#random, owner);
    return [{ apply: drawSlice(this.#random, id, { owner, service }) }];
  }

  /** The node under test, in some zone or in none. */
  #node(): WorldChange {
    const zone = this.#random.weighted<string | undefined>([
      [3, 'zone-a'],
      [1, 'zone-b'],
      [1, undefined],
    ]);
    const labels = zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone };
    const [node] = standingObjects(this.#topology, { node: { labels } }).filter(
      ({ kind, metadata }) => kind === 'Node' && metadata.name === 'node1',
    );
    return { apply: node! };
  }
}

function nameOf({ metadata }: KubeObject): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}
