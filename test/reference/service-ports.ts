import { BlockList, isIPv6 } from 'node:net';
import type { KubeObject } from '../netns/replay/scenario.ts';

export type Family = 'IPv4' | 'IPv6';

/** An endpoint as its slice has it, conditions filled in. */
export interface ReferenceEndpoint {
  /** `ip:port` or `[ip]:port`. */
  readonly name: string;
  readonly isLocal: boolean;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

/** A Service port with what the reference derives for it (A.1.5, A.3). */
export interface ReferencePort {
  readonly protocol: string;
  readonly clusterIP: string;
  readonly port: number;
  readonly nodePort: number;
  readonly externalIPs: readonly string[];
  readonly vips: readonly string[];
  readonly ranges: readonly string[];
  readonly externalLocal: boolean;
  readonly internalLocal: boolean;
  readonly cluster: readonly ReferenceEndpoint[];
  readonly local: readonly ReferenceEndpoint[];
  readonly hasAny: boolean;
}

export interface ReferenceNode {
  readonly name: string;
  readonly zone: string;
}

// biome-ignore lint/suspicious/noExplicitAny: API objects are read as they are written, without the program's decoders.
type Json = any;

/** All Service ports of a family, read from the API objects by a second, naive reading of the reference. */
export function referencePorts(
  objects: readonly KubeObject[],
  family: Family,
  node: ReferenceNode,
): ReferencePort[] {
  const services = objects.filter(
    ({ kind, metadata }) =>
      kind === 'Service' && !hasLabel(metadata, 'service.kubernetes.io/service-proxy-name'),
  );
  return services.flatMap((service) => portsOf(service, objects, family, node));
}

/** Whether an address lies in one of these networks; those of the other family hold nothing. */
export function isInAny(ip: string, networks: readonly string[]): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');
}

function portsOf(
  service: Json,
  objects: readonly KubeObject[],
  family: Family,
  node: ReferenceNode,
): ReferencePort[] {
  const { spec, status, metadata } = service;
  if (!spec.clusterIP || spec.clusterIP === 'None' || spec.type === 'ExternalName') return [];
  const index: number = spec.ipFamilies.indexOf(family);
  if (index < 0) return [];
  const ofFamily = (ips: readonly string[]) =>
    ips.filter((ip) => isIPv6(ip.split('/')[0]!) === (family === 'IPv6'));
  const externalIPs: string[] = spec.externalIPs ?? [];
  const ingress: Json[] = status?.loadBalancer?.ingress ?? [];
  const ranges = ofFamily(spec.loadBalancerSourceRanges ?? []);
  const isVisible =
    spec.type === 'LoadBalancer' ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && externalIPs.length > 0);
  return spec.ports.map((port: Json) => {
    const own = {
      protocol: port.protocol ?? 'TCP',
      clusterIP: spec.clusterIPs[index],
      port: port.port,
      nodePort: port.nodePort ?? 0,
      externalIPs: ofFamily(externalIPs),
      vips: ofFamily(ingress.flatMap(({ ip, ipMode }) => (!ip || ipMode === 'Proxy' ? [] : [ip]))),
      ranges: ranges.some((range) => range.endsWith('/0')) ? [] : ranges,
      externalLocal: spec.externalTrafficPolicy === 'Local' && isVisible,
      internalLocal: spec.internalTrafficPolicy === 'Local',
    };
    const accessible = own.nodePort !== 0 || own.vips.length > 0 || own.externalIPs.length > 0;
    const endpoints = endpointsOf(`${metadata.namespace}/${metadata.name}`, port, objects, family, node);
    return {
      ...own,
      ...categorize(endpoints, node, {
        usesCluster: !own.internalLocal || accessible,
        usesLocal: own.internalLocal || (own.externalLocal && accessible),
      }),
    };
  });
}

/** A.2.3. */
function endpointsOf(
  service: string,
  servicePort: Json,
  objects: readonly KubeObject[],
  family: Family,
  node: ReferenceNode,
): ReferenceEndpoint[] {
  const found = new Map<string, ReferenceEndpoint>();
  const slices = objects
    .filter(
      ({ kind, metadata }) =>
        kind === 'EndpointSlice' && !hasLabel(metadata, 'service.kubernetes.io/headless'),
    )
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)) as Json[];
  for (const slice of slices) {
    const owner = `${slice.metadata.namespace}/${slice.metadata.labels['kubernetes.io/service-name']}`;
    if (owner !== service || slice.addressType !== family) continue;
    for (const port of slice.ports) {
      if (port.name !== (servicePort.name ?? '') || !port.port) continue;
      if ((port.protocol ?? 'TCP') !== (servicePort.protocol ?? 'TCP')) continue;
      for (const endpoint of slice.endpoints) {
        const [ip] = endpoint.addresses;
        const name = family === 'IPv6' ? `[${ip}]:${port.port}` : `${ip}:${port.port}`;
        const { ready = true, serving = true, terminating = false } = endpoint.conditions ?? {};
        if (found.has(name) && terminating) continue;
        found.set(name, {
          name,
          isLocal: endpoint.nodeName === node.name,
          ready,
          serving,
          terminating,
          zones: (endpoint.hints?.forZones ?? []).map((hint: Json) => hint.name),
          nodes: (endpoint.hints?.forNodes ?? []).map((hint: Json) => hint.name),
        });
      }
    }
  }
  return [...found.values()];
}

/** A.3.1 and A.3.2, step by step. */
function categorize(
  endpoints: readonly ReferenceEndpoint[],
  node: ReferenceNode,
  { usesCluster, usesLocal }: { readonly usesCluster: boolean; readonly usesLocal: boolean },
): Pick<ReferencePort, 'cluster' | 'local' | 'hasAny'> {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  const leaving = endpoints.filter((e) => !e.ready && e.serving && e.terminating);
  let cluster: readonly ReferenceEndpoint[] = [];
  if (usesCluster) {
    cluster = ready;
    if (ready.every((e) => e.nodes.length > 0) && ready.some((e) => e.nodes.includes(node.name)))
      cluster = ready.filter((e) => e.nodes.includes(node.name));
    else if (ready.every((e) => e.zones.length > 0) && ready.some((e) => e.zones.includes(node.zone)))
      cluster = ready.filter((e) => e.zones.includes(node.zone));
    if (ready.length === 0) cluster = endpoints.filter((e) => e.serving && e.terminating);
  }
  if (!usesLocal) return { cluster, local: [], hasAny: cluster.length > 0 };
  const localReady = ready.filter((e) => e.isLocal);
  const local = localReady.length > 0 ? localReady : leaving.filter((e) => e.isLocal);
  return { cluster, local, hasAny: ready.length > 0 || leaving.length > 0 };
}

function hasLabel(metadata: KubeObject['metadata'], label: string): boolean {
  return label in ((metadata['labels'] ?? {}) as object);
}
