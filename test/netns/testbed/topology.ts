import { readFileSync } from 'node:fs';

/** One end of a veth pair. `master` is a bridge of the same namespace. */
export interface LinkEnd {
  readonly ns: string;
  readonly dev: string;
  readonly addresses?: readonly string[];
  readonly master?: string;
}

export interface Route {
  readonly ns: string;
  /** A prefix, or `default` (IPv4). */
  readonly to: string;
  readonly via?: string;
  /** Several next hops that share the traffic, in place of `via`. */
  readonly nexthops?: readonly string[];
  readonly dev?: string;
}

/** Where a probe starts. A null address means the socket is not bound to one, or the source lacks the family. */
export interface ProbeSource {
  readonly ns: string;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
}

/** Processes that answer on each combination of address and port, on TCP and UDP. */
export interface ServerGroup {
  readonly ns: string;
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
  /** What HTTP clients are told beside the addresses; see IdentityServers. */
  readonly name?: string;
}

/**
 * A network of namespaces as `test/scenarios/topology.json` describes it. Namespace names are the short ones;
 * {@link Testbed} gives them a prefix of its own.
 */
export interface Topology {
  readonly serviceCIDRs: readonly string[];
  readonly nodes: Readonly<Record<string, NodeAddresses>>;
  readonly namespaces: readonly string[];
  /** Values by sysctl name; the key `all` is for every namespace, other keys are namespaces. */
  readonly sysctls: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
  readonly bridges: readonly {
    readonly ns: string;
    readonly name: string;
    readonly addresses: readonly string[];
  }[];
  readonly links: readonly { readonly a: LinkEnd; readonly b: LinkEnd }[];
  readonly loopbackAddresses: readonly { readonly ns: string; readonly addresses: readonly string[] }[];
  readonly routes: readonly Route[];
  /** Lines for `nft -f` in the namespace `router`. */
  readonly routerFilter?: { readonly nft: readonly string[] };
  readonly sources: Readonly<Record<string, ProbeSource>>;
  readonly servers: {
    /** Pod addresses: the namespace is the one that owns the address. */
    readonly addresses: readonly string[];
    readonly ports: readonly number[];
    readonly extra: readonly ServerGroup[];
  };
}

export interface NodeAddresses {
  readonly internalIPs: readonly string[];
  readonly allIPs: readonly string[];
  readonly podCIDRs: readonly string[];
}

/** Reads a topology file. Throws when the file is missing or no JSON; the contents are trusted test data. */
export function loadTopology(path: string | URL): Topology {
  return JSON.parse(readFileSync(path, 'utf8')) as Topology;
}

/** All servers of a topology grouped by namespace. Throws when a pod address belongs to no namespace. */
export function serverGroups(topology: Topology): ServerGroup[] {
  const owners = addressOwners(topology);
  const byNamespace = new Map<string, string[]>();
  for (const address of topology.servers.addresses) {
    const ns = owners.get(address);
    if (ns === undefined) throw new Error(`topology: no namespace has the server address ${address}`);
    byNamespace.set(ns, [...(byNamespace.get(ns) ?? []), address]);
  }
  const pods = [...byNamespace].map(([ns, addresses]) => ({ ns, addresses, ports: topology.servers.ports }));
  return [...pods, ...topology.servers.extra];
}

function addressOwners(topology: Topology): Map<string, string> {
  const owners = new Map<string, string>();
  const ends = topology.links.flatMap((link) => [link.a, link.b]);
  for (const { ns, addresses } of [...ends, ...topology.loopbackAddresses, ...topology.bridges]) {
    for (const address of addresses ?? []) owners.set(address.replace(/\/\d+$/, ''), ns);
  }
  return owners;
}
