import type { KubeObject } from '../replay/scenario.ts';
import type { Random } from './random.ts';

/** A Service port before it becomes an object. */
export interface PortParameters {
  readonly name: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
  readonly nodePort: number;
}

/** What a random Service is made of; each field is drawn by itself, so that a change can draw some of them again. */
export interface ServiceParameters {
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  readonly families: readonly ('IPv4' | 'IPv6')[];
  /** Last part of its cluster IPs; 0 for a headless Service. */
  readonly address: number;
  readonly ports: readonly PortParameters[];
  readonly externalIPs: readonly string[];
  readonly ingress: readonly { readonly ip?: string; readonly hostname?: string; readonly ipMode?: string }[];
  readonly ranges: readonly string[];
  readonly hasAffinity: boolean;
  readonly externalTrafficPolicy: 'Cluster' | 'Local';
  readonly internalTrafficPolicy: 'Cluster' | 'Local';
  readonly belongsToOtherProxy: boolean;
  /** Seconds of a minute: the older Service keeps an address that two want. */
  readonly created: number;
}

export const SERVICES = 6;

/** Load balancer and external addresses; the two lists share one, and one is an address of the node. */
const LOAD_BALANCERS = [
  '203.0.113.10',
  '203.0.113.11',
  '203.0.113.20',
  '2001:db8:113::10',
  '2001:db8:113::20',
];
const EXTERNALS = [
  '203.0.113.20',
  '203.0.113.21',
  '203.0.113.22',
  '172.31.1.11',
  '2001:db8:113::20',
  '2001:db8:113::21',
];
/** The router has it: what is sent there in mode Proxy is answered by the router. */
const ROUTER = ['203.0.113.200', '2001:db8:113::200'];
const RANGES = [
  '198.51.100.10/32',
  '198.51.100.0/24',
  '10.244.1.0/24',
  '10.244.1.2/31',
  '172.31.0.0/16',
  '172.31.0.11/32',
  '0.0.0.0/0',
  '2001:db8:100::10/128',
  '2001:db8:100::/64',
  'fd00:244:1::/64',
  'fd00:31::/64',
];

const draws: { [F in keyof ServiceParameters]: (random: Random, index: number) => ServiceParameters[F] } = {
  type: (random) =>
    random.weighted([
      [3, 'ClusterIP'],
      [4, 'NodePort'],
      [6, 'LoadBalancer'],
      [0.5, 'ExternalName'],
    ]),
  families: (random) =>
    random.weighted<ServiceParameters['families']>([
      [4, ['IPv4']],
      [2, ['IPv6']],
      [4, ['IPv4', 'IPv6']],
      [1, ['IPv6', 'IPv4']],
    ]),
  address: (random, index) =>
    random.weighted([
      [12, 10 + index],
      [3, 30 + index],
      [0.7, 0],
      [0.7, 10 + random.integer(0, SERVICES - 1)],
    ]),
  ports: (random, index) => {
    const first: PortParameters = drawPort(random, index, 0, 'a');
    if (random.chance(0.45)) return [{ ...first, name: random.chance(0.5) ? '' : 'a' }];
    const second = drawPort(random, index, 1, 'b');
    const isSame = first.port === second.port && first.protocol === second.protocol;
    return isSame ? [first] : [first, second];
  },
  externalIPs: (random) => (random.chance(0.4) ? random.some(EXTERNALS, random.integer(1, 3)) : []),
  ingress: (random) =>
    random.chance(0.75)
      ? [
          ...random.some(LOAD_BALANCERS, random.integer(1, 3)).map((ip) => ({
            ip,
            ...random.weighted<{ ipMode?: string }>([
              [4, {}],
              [4, { ipMode: 'VIP' }],
            ]),
          })),
          ...(random.chance(0.2) ? [{ ip: random.pick(ROUTER), ipMode: 'Proxy' }] : []),
          ...(random.chance(0.1) ? [{ hostname: 'lb.example.com' }] : []),
        ]
      : [],
  ranges: (random) => (random.chance(0.4) ? random.some(RANGES, random.integer(1, 3)) : []),
  hasAffinity: (random) => random.chance(0.2),
  externalTrafficPolicy: (random) => (random.chance(0.5) ? 'Local' : 'Cluster'),
  internalTrafficPolicy: (random) => (random.chance(0.3) ? 'Local' : 'Cluster'),
  belongsToOtherProxy: (random) => random.chance(0.05),
  created: (random) => random.integer(0, 59),
};

function drawPort(random: Random, index: number, at: number, name: string): PortParameters {
  return {
    name,
    protocol: random.weighted<PortParameters['protocol']>([
      [6, 'TCP'],
      [5, 'UDP'],
      [0.7, 'SCTP'],
    ]),
    port: random.pick([53, 80, 443]),
    // One number in ten is wanted by several Services.
    nodePort: random.chance(0.1) ? 30_999 : 30_100 + index * 2 + at,
  };
}

export function drawService(random: Random, index: number): ServiceParameters {
  return Object.fromEntries(
    Object.entries(draws).map(([field, draw]) => [field, draw(random, index)]),
  ) as unknown as ServiceParameters;
}

/** The same Service with some fields drawn again. */
export function redrawService(random: Random, index: number, before: ServiceParameters): ServiceParameters {
  const fields = random.some(Object.keys(draws) as (keyof ServiceParameters)[], random.integer(1, 3));
  return { ...before, ...Object.fromEntries(fields.map((field) => [field, draws[field](random, index)])) };
}

/** The object as an API server would hold it. */
export function serviceObject(index: number, parameters: ServiceParameters): KubeObject {
  const { type, families, address, ports, belongsToOtherProxy } = parameters;
  const isHeadless = address === 0 && type === 'ClusterIP';
  const last = address === 0 ? 10 + index : address;
  const clusterIPs = isHeadless
    ? ['None']
    : families.map((family) => (family === 'IPv4' ? `10.96.0.${last}` : `fd00:10:96::${last}`));
  const takesNodePorts = type === 'NodePort' || type === 'LoadBalancer';
  const isExternal = takesNodePorts || parameters.externalIPs.length > 0;
  const isLocal = isExternal && parameters.externalTrafficPolicy === 'Local';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: serviceName(index),
      namespace: 'default',
      creationTimestamp: `2024-01-01T00:00:${String(parameters.created).padStart(2, '0')}Z`,
      ...(belongsToOtherProxy ? { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } } : {}),
    },
    spec: {
      type,
      ...(type === 'ExternalName'
        ? { externalName: 'example.com' }
        : { clusterIP: clusterIPs[0], clusterIPs, ipFamilies: families }),
      ports: ports.map(({ nodePort, ...port }) => ({
        ...port,
        targetPort: 8080,
        // Services without node ports of their own: allocateLoadBalancerNodePorts.
        ...(takesNodePorts && !(type === 'LoadBalancer' && parameters.created % 4 === 0) ? { nodePort } : {}),
      })),
      externalIPs: parameters.externalIPs,
      loadBalancerSourceRanges: parameters.ranges,
      sessionAffinity: parameters.hasAffinity ? 'ClientIP' : 'None',
      ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: parameters.internalTrafficPolicy }),
      ...(isExternal ? { externalTrafficPolicy: isLocal ? 'Local' : 'Cluster' } : {}),
      ...(type === 'LoadBalancer' && isLocal ? { healthCheckNodePort: 31_000 + index } : {}),
    },
    status: { loadBalancer: { ingress: parameters.ingress } },
  };
}

export function serviceName(index: number): string {
  return `svc-${index}`;
}
