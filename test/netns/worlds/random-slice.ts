import type { KubeObject } from '../replay/scenario.ts';
import type { Random } from './random.ts';
import { SERVICES, type ServiceParameters, serviceName } from './random-service.ts';

/** Slices that each Service may have in each family. */
export const SLICES = 2;

const PODS: readonly { readonly IPv4: string; readonly IPv6: string; readonly node: string }[] = [
  { IPv4: '10.244.1.2', IPv6: 'fd00:244:1::2', node: 'node1' },
  { IPv4: '10.244.1.3', IPv6: 'fd00:244:1::3', node: 'node1' },
  { IPv4: '10.244.1.4', IPv6: 'fd00:244:1::4', node: 'node1' },
  { IPv4: '10.244.2.2', IPv6: 'fd00:244:2::2', node: 'node2' },
  { IPv4: '10.244.2.3', IPv6: 'fd00:244:2::3', node: 'node2' },
  { IPv4: '10.244.2.4', IPv6: 'fd00:244:2::4', node: 'node2' },
];
/** Processes in the nodes' own network. */
const HOSTS: typeof PODS = [
  { IPv4: '172.31.0.11', IPv6: 'fd00:31::11', node: 'node1' },
  { IPv4: '172.31.2.12', IPv6: 'fd00:31:2::12', node: 'node2' },
];
const ZONES = ['zone-a', 'zone-b', 'zone-c'];

export interface SliceId {
  readonly service: number;
  readonly family: 'IPv4' | 'IPv6';
  readonly number: number;
}

/** The Service that a slice is labelled for: mostly its own, rarely another. */
export function drawOwner(random: Random, { service }: SliceId): number {
  return random.chance(0.05) ? random.integer(0, SERVICES - 1) : service;
}

/** A random EndpointSlice, which mostly knows the ports of its Service by their names. */
export function drawSlice(
  random: Random,
  id: SliceId,
  { owner, service }: { readonly owner: number; readonly service: ServiceParameters },
): KubeObject {
  const { family } = id;
  const isHosts = random.chance(0.12);
  const where = random.weighted([
    [6, PODS],
    [2, PODS.filter(({ node }) => node === 'node1')],
    [3, PODS.filter(({ node }) => node === 'node2')],
  ]);
  const hosts = isHosts ? HOSTS : where;
  const count = random.weighted([
    [1, 0],
    [3, 1],
    [4, 2],
    [3, 3],
    [2, 6],
  ]);
  const condition = drawConditions(random);
  const hints = drawHints(random);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(id),
      namespace: 'default',
      labels: {
        'kubernetes.io/service-name': serviceName(owner),
        ...(random.chance(0.03) ? { 'service.kubernetes.io/headless': '' } : {}),
      },
    },
    addressType: family,
    ports: service.ports.map(({ name, protocol }) => ({
      name: random.chance(0.04) ? 'other' : name,
      protocol: random.chance(0.03) ? 'SCTP' : protocol,
      ...(random.chance(0.03) ? {} : { port: isHosts ? 8090 : random.pick([5353, 8080, 8081, 8082]) }),
    })),
    endpoints: random.some(hosts, count).map((pod) => ({
      addresses: [pod[family]],
      conditions: condition(),
      ...(random.chance(0.04) ? {} : { nodeName: pod.node }),
      ...hints(),
    })),
  };
}

type Conditions = Readonly<Partial<Record<'ready' | 'serving' | 'terminating', boolean>>>;

/** Conditions as the controller sets them, mostly; some slices have no ready endpoint. */
function drawConditions(random: Random): () => Conditions {
  const ready: Conditions = { ready: true, serving: true, terminating: false };
  const leaving: Conditions = { ready: false, serving: true, terminating: true };
  const unready: Conditions = { ready: false, serving: false, terminating: false };
  const gone: Conditions = { ready: false, serving: false, terminating: true };
  const others: readonly (readonly [number, Conditions])[] = [
    [2, leaving],
    [1, unready],
    [0.5, gone],
    [0.2, { ready: false, serving: true, terminating: false }],
  ];
  const choices: readonly (readonly [number, Conditions])[] = random.chance(0.25)
    ? others
    : [
        [7, ready],
        [0.5, {}],
        [0.3, { ready: true, serving: true, terminating: true }],
        [0.3, { ready: false }],
        ...others,
      ];
  return () => random.weighted(choices);
}

/** Hints of all endpoints, of most, or of none. */
function drawHints(random: Random): () => object {
  const [zones, nodes] = random.weighted([
    [5, [0, 0]],
    [2, [1, 0]],
    [2, [1, 1]],
    [1, [0, 1]],
    [1, [0.8, 0.5]],
  ] as const);
  return () => {
    const hints = {
      ...(random.chance(zones)
        ? { forZones: random.some(ZONES, random.integer(1, 2)).map((name) => ({ name })) }
        : {}),
      ...(random.chance(nodes) ? { forNodes: [{ name: random.pick(['node1', 'node2']) }] } : {}),
    };
    return Object.keys(hints).length === 0 ? {} : { hints };
  };
}

export function sliceName({ service, family, number }: SliceId): string {
  return `${serviceName(service)}-${family.toLowerCase()}-${number}`;
}
