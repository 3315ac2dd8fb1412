import { joinHostPort } from '../../../src/base/ip.ts';
import { type Endpoint, endpointString } from '../../../src/model/endpoint.ts';
import {
  type Connection,
  type ConnectionOutcome,
  connectionOutcome,
} from '../../../src/plan/connection-outcome.ts';
import { explainConnection } from '../../../src/plan/explain.ts';
import type { SourceKind } from '../replay/scenario.ts';
import type { Topology } from '../testbed/topology.ts';
import type { PredictedFamily } from './predicted-plans.ts';
import type { Random } from './random.ts';

/** Requests to make, and what the plan says will become of them. */
export interface WorldProbe {
  readonly from: string;
  readonly to: string;
  readonly proto: 'tcp' | 'udp' | 'http';
  readonly count: number;
  readonly expected: WorldExpectation;
  /** The answer of `explain`, for reports. */
  readonly why: readonly string[];
}

export type WorldExpectation =
  /** Every one of these servers answers, and no other; how each may see the client. */
  | { readonly kind: 'answered'; readonly servers: ReadonlyMap<string, readonly SourceKind[]> }
  /** One of them answers all requests. */
  | { readonly kind: 'sticky'; readonly servers: ReadonlyMap<string, readonly SourceKind[]> }
  /** All requests end in this way. */
  | { readonly kind: 'failed'; readonly word: string }
  | { readonly kind: 'health'; readonly status: number; readonly weight: string };

interface Source {
  readonly name: string;
  readonly where: 'pod' | 'node' | 'elsewhere';
  readonly inputInterface?: string;
}

const SOURCES: readonly Source[] = [
  { name: 'pod-a', where: 'pod', inputInterface: 'cbr0' },
  { name: 'pod-b', where: 'pod', inputInterface: 'cbr0' },
  { name: 'pod-c', where: 'pod', inputInterface: 'vethc' },
  { name: 'pod-d', where: 'elsewhere', inputInterface: 'eth0' },
  { name: 'node1', where: 'node' },
  { name: 'node1-eth1', where: 'node' },
  { name: 'node2', where: 'elsewhere', inputInterface: 'eth0' },
  { name: 'client', where: 'elsewhere', inputInterface: 'eth0' },
  { name: 'client2', where: 'elsewhere', inputInterface: 'eth0' },
  { name: 'client-pod-range', where: 'elsewhere', inputInterface: 'eth0' },
];

type Destination = Connection['destination'];

/** Draws probes of everything that the plans serve, and of some that they do not. */
export function drawProbes(
  random: Random,
  families: readonly PredictedFamily[],
  topology: Topology,
  most: number,
): WorldProbe[] {
  const probes: WorldProbe[] = [];
  for (const family of families) {
    for (const destination of destinationsOf(random, family)) {
      for (const source of random.some(SOURCES, 2)) {
        const probe = predict(source, destination, family, topology);
        if (probe !== undefined) probes.push(probe);
      }
    }
  }
  const health = families.flatMap((family) => healthProbes(family));
  return [...random.some(probes, most), ...random.some(health, 4)];
}

function destinationsOf(random: Random, { plan, family, nodeAddresses }: PredictedFamily): Destination[] {
  const destinations: Destination[] = [];
  for (const { servicePort, frontends } of plan.servicePorts.values()) {
    const { protocol, namespace, name, clusterIP, port } = servicePort;
    if (protocol === 'SCTP' || `${namespace}/${name}` === 'default/oracle-marker') continue;
    for (const frontend of frontends) {
      const ips =
        frontend.kind === 'NodePort'
          ? random.some(
              nodeAddresses.filter((ip) => ip.includes(':') === (family === 'IPv6')),
              2,
            )
          : [frontend.ip];
      for (const ip of ips) destinations.push({ ip, port: frontend.port, protocol });
    }
    // Claimed by this Service, and perhaps served for another.
    for (const ip of [...servicePort.externalIPs, ...servicePort.loadBalancerVIPs])
      if (random.chance(0.2)) destinations.push({ ip, port, protocol });
    if (random.chance(0.2)) destinations.push({ ip: clusterIP, port: port + 1, protocol });
  }
  const unused = family === 'IPv4' ? '10.96.77.7' : 'fd00:10:96::7777';
  destinations.push({ ip: unused, port: 80, protocol: 'TCP' });
  const router = family === 'IPv4' ? '203.0.113.200' : '2001:db8:113::200';
  destinations.push({ ip: router, port: 80, protocol: 'TCP' });
  for (const ip of nodeAddresses)
    if (ip.includes(':') === (family === 'IPv6'))
      destinations.push({
        ip,
        port: random.pick([8090, 30_998, 30_999]),
        protocol: random.pick(['TCP', 'UDP']),
      });
  return destinations;
}

/** The probe of one destination from one source; undefined where the test bed cannot tell. */
function predict(
  source: Source,
  destination: Destination,
  view: PredictedFamily,
  topology: Topology,
): WorldProbe | undefined {
  const { family, nodeAddresses } = view;
  const bound = topology.sources[source.name]!;
  const isLoopback = destination.ip === '127.0.0.1' || destination.ip === '::1';
  if (isLoopback && source.name !== 'node1') return undefined;
  let ip = family === 'IPv4' ? bound.ipv4 : bound.ipv6;
  if (ip === null) {
    if (source.name !== 'node1') return undefined;
    // What the kernel chooses: the address itself where it is the node's, else that of the default route.
    ip = nodeAddresses.includes(destination.ip)
      ? destination.ip
      : family === 'IPv4'
        ? '172.31.0.11'
        : 'fd00:31::11';
  }
  const connection: Connection = {
    destination,
    source: ip,
    ...(source.inputInterface === undefined ? {} : { inputInterface: source.inputInterface }),
  };
  const outcome = connectionOutcome(connection, view);
  const expected = expectationOf(outcome, { ...source, ip }, destination, view);
  if (expected === undefined) return undefined;
  return {
    from: source.name,
    to: joinHostPort(destination.ip, destination.port),
    proto: destination.protocol === 'UDP' ? 'udp' : 'tcp',
    count: outcome.kind === 'forwarded' && outcome.endpoints.length > 1 ? 4 * outcome.endpoints.length : 2,
    expected,
    why: explainConnection(connection, view),
  };
}

function expectationOf(
  outcome: ConnectionOutcome,
  source: Source & { readonly ip: string },
  destination: Destination,
  view: PredictedFamily,
): WorldExpectation | undefined {
  switch (outcome.kind) {
    case 'rejected':
      return { kind: 'failed', word: 'refused' };
    case 'dropped':
      return { kind: 'failed', word: 'timeout' };
    case 'untouched':
      return untouched(destination, view);
    case 'forwarded': {
      const servers = new Map<string, readonly SourceKind[]>();
      for (const endpoint of outcome.endpoints) {
        const seen = clientSeen(endpoint, outcome.masquerade, source, destination, view);
        if (seen === undefined) return undefined;
        servers.set(endpointString(endpoint), seen);
      }
      const isSticky = outcome.match.servicePort.servicePort.affinityTimeoutSeconds > 0;
      return { kind: isSticky ? 'sticky' : 'answered', servers };
    }
  }
}

/** How an endpoint may see the client; undefined where its answer would not come back through the node. */
function clientSeen(
  endpoint: Endpoint,
  masquerade: boolean,
  source: Source & { readonly ip: string },
  destination: Destination,
  { nodeAddresses }: PredictedFamily,
): readonly SourceKind[] | undefined {
  const isItself = endpoint.ip === source.ip;
  const isOfNode = nodeAddresses.includes(endpoint.ip);
  if (source.where === 'node') {
    if (isOfNode && destination.ip === '127.0.0.1') return undefined;
    // Masquerading may choose the address that the socket has.
    return masquerade || isItself ? ['preserved', 'node'] : ['preserved'];
  }
  // What is delivered to the node itself does not pass postrouting.
  if (isOfNode) return ['preserved'];
  if (masquerade) return ['node'];
  // The node does not know itself to be a pod's where the slice does not say so; modes differ there.
  if (isItself) return source.where === 'pod' && endpoint.isLocal ? ['node'] : undefined;
  const isHere = /^(10\.244\.1\.|fd00:244:1::)/.test(endpoint.ip);
  return source.where === 'pod' || isHere ? ['preserved'] : undefined;
}

/** What happens to a packet that no rule of ours concerns. */
function untouched({ ip, port }: Destination, { nodeAddresses }: PredictedFamily): WorldExpectation {
  const answers =
    (port === 8090 && /^(172\.31\.[01]\.11|fd00:31:(1:)?:11)$/.test(ip)) ||
    (port === 80 && (ip === '203.0.113.200' || ip === '2001:db8:113::200'));
  if (answers) {
    const seen: readonly SourceKind[] = ['preserved'];
    return { kind: 'answered', servers: new Map([[joinHostPort(ip, port), seen]]) };
  }
  if (nodeAddresses.includes(ip) || ip.endsWith('.200') || ip.endsWith('::200'))
    return { kind: 'failed', word: 'refused' };
  return { kind: 'failed', word: 'unhandled' };
}

function healthProbes({ family, healthChecks, plan }: PredictedFamily): WorldProbe[] {
  const { nodePortAddresses } = plan.settings;
  const address = family === 'IPv4' ? '172.31.0.11' : 'fd00:31::11';
  if (nodePortAddresses !== 'all' && !nodePortAddresses.includes(address)) return [];
  return [...healthChecks].map(([port, ready]) => ({
    from: 'client',
    to: joinHostPort(address, port),
    proto: 'http',
    count: 1,
    expected: { kind: 'health', status: ready > 0 ? 200 : 503, weight: String(ready) },
    why: [`${ready} endpoints are ready here`],
  }));
}
