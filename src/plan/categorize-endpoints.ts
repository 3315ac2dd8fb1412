import type { Endpoint } from '../model/endpoint.ts';
import { type ServicePort, usesClusterEndpoints, usesLocalEndpoints } from '../model/service-port.ts';

/** Where this node is: what topology hints are compared with. */
export interface NodeTopology {
  readonly nodeName: string;
  /** Value of the Node's label `topology.kubernetes.io/zone`, `''` where absent. */
  readonly zone: string;
}

/** The endpoints of one ServicePort, sorted by what may use them (spec A.3). Each list keeps the order of its input. */
export interface CategorizedEndpoints {
  /** For traffic with policy Cluster. */
  readonly cluster: readonly Endpoint[];
  /** For traffic with policy Local: on this node only. */
  readonly local: readonly Endpoint[];
  /** All that some traffic on this node may reach: the union of the two. */
  readonly allReachable: readonly Endpoint[];
  /** Whether anything in the cluster can serve this port, reachable from here or not. */
  readonly hasAnyEndpoints: boolean;
}

/**
 * Chooses the endpoints that this node uses for a ServicePort.
 *
 * Ready endpoints come first. Only where there are none, endpoints that are terminating but still serving stand in:
 * a Service that is rolled or drained keeps answering. The two lists fall back independently of each other, and
 * topology hints narrow the cluster-wide list alone, and only while every ready endpoint carries them (spec A.3.1).
 */
export function categorizeEndpoints(
  endpoints: readonly Endpoint[],
  port: ServicePort,
  topology: NodeTopology,
): CategorizedEndpoints {
  if (endpoints.length === 0)
    return { cluster: none, local: none, allReachable: none, hasAnyEndpoints: false };
  const usesCluster = usesClusterEndpoints(port);
  const usesLocal = usesLocalEndpoints(port);
  const choice = usesCluster ? clusterEndpoints(endpoints, topology) : { cluster: none, narrowed: false };
  const { cluster } = choice;
  if (!usesLocal) return { cluster, local: none, allReachable: cluster, hasAnyEndpoints: cluster.length > 0 };
  const { local, terminating } = localEndpoints(endpoints);
  const hasAnyEndpoints = canServe(endpoints);
  if (!usesCluster) return { cluster, local, allReachable: local, hasAnyEndpoints };
  const isSuperset = !choice.narrowed && !terminating;
  return {
    cluster,
    local,
    allReachable: isSuperset ? cluster : union(endpoints, cluster, local),
    hasAnyEndpoints,
  };
}

/** Whether any of these endpoints of a ServicePort can serve, reachable from here or not. */
export function canServe(endpoints: readonly Endpoint[]): boolean {
  return endpoints.some((endpoint) => endpoint.isReady || isServingTerminating(endpoint));
}

const none: readonly Endpoint[] = Object.freeze([]);

function isServingTerminating(endpoint: Endpoint): boolean {
  return endpoint.isServing && endpoint.isTerminating;
}

function clusterEndpoints(
  endpoints: readonly Endpoint[],
  topology: NodeTopology,
): { cluster: readonly Endpoint[]; narrowed: boolean } {
  const ready = filter(endpoints, (endpoint) => endpoint.isReady);
  if (ready.length === 0) return { cluster: filter(endpoints, isServingTerminating), narrowed: false };
  const hinted =
    preferHinted(ready, (endpoint) => endpoint.nodeHints, topology.nodeName) ??
    preferHinted(ready, (endpoint) => endpoint.zoneHints, topology.zone);
  return hinted === undefined ? { cluster: ready, narrowed: false } : { cluster: hinted, narrowed: true };
}

/** The endpoints hinted to `here`, if every endpoint has a hint and at least one names `here` (spec A.3.2). */
function preferHinted(
  ready: readonly Endpoint[],
  hintsOf: (endpoint: Endpoint) => readonly string[],
  here: string,
): readonly Endpoint[] | undefined {
  if (here === '' || !ready.every((endpoint) => hintsOf(endpoint).length > 0)) return undefined;
  const hinted = filter(ready, (endpoint) => hintsOf(endpoint).includes(here));
  return hinted.length > 0 ? hinted : undefined;
}

function localEndpoints(endpoints: readonly Endpoint[]): {
  local: readonly Endpoint[];
  terminating: boolean;
} {
  const ready = filter(endpoints, (endpoint) => endpoint.isLocal && endpoint.isReady);
  if (ready.length > 0) return { local: ready, terminating: false };
  const local = filter(endpoints, (endpoint) => endpoint.isLocal && isServingTerminating(endpoint));
  return { local, terminating: local.length > 0 };
}

function union(
  order: readonly Endpoint[],
  a: readonly Endpoint[],
  b: readonly Endpoint[],
): readonly Endpoint[] {
  const either = new Set([...a, ...b]);
  return order.filter((endpoint) => either.has(endpoint));
}

/** As `Array.filter`, but hands back the same list when all pass: most Services then keep one list, not three. */
function filter(endpoints: readonly Endpoint[], keep: (endpoint: Endpoint) => boolean): readonly Endpoint[] {
  const first = endpoints.findIndex((endpoint) => !keep(endpoint));
  if (first < 0) return endpoints;
  const kept = endpoints.slice(0, first);
  for (let i = first + 1; i < endpoints.length; i++) if (keep(endpoints[i]!)) kept.push(endpoints[i]!);
  return kept.length === 0 ? none : kept;
}
