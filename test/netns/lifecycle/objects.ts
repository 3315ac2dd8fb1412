import type { TestObject } from './api-server-process.ts';

export interface ServiceOptions {
  readonly clusterIPs?: readonly string[];
  readonly port?: number;
  readonly targetPort?: number;
  readonly protocol?: 'TCP' | 'UDP';
  readonly nodePort?: number;
  readonly sessionAffinity?: 'ClientIP';
  /** Fields over those made from the others. */
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A Service with one port named `main`, as the API server would hand it out. */
export function service(name: string, clusterIP: string, options: ServiceOptions = {}): TestObject {
  const { port = 80, targetPort = 8080, protocol = 'TCP', nodePort, sessionAffinity } = options;
  const clusterIPs = options.clusterIPs ?? [clusterIP];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', ...options.metadata },
    spec: {
      type: nodePort === undefined ? 'ClusterIP' : 'NodePort',
      clusterIP,
      clusterIPs,
      ipFamilies: clusterIPs.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4')),
      ipFamilyPolicy: clusterIPs.length > 1 ? 'RequireDualStack' : 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      ...(nodePort === undefined ? {} : { externalTrafficPolicy: 'Cluster' }),
      sessionAffinity: sessionAffinity ?? 'None',
      ...(sessionAffinity === undefined
        ? {}
        : { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } } }),
      ports: [{ name: 'main', protocol, port, targetPort, ...(nodePort === undefined ? {} : { nodePort }) }],
      ...options.spec,
    },
  };
}

export interface SliceOptions {
  readonly port?: number;
  readonly protocol?: 'TCP' | 'UDP';
  /** Name of the slice; default: the Service's with `-1`. */
  readonly name?: string;
  /** Fields over those made from the others. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A slice of ready endpoints on node1. */
export function slice(
  serviceName: string,
  addresses: readonly string[],
  options: SliceOptions = {},
): TestObject {
  const { port = 8080, protocol = 'TCP', name = `${serviceName}-1` } = options;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': serviceName } },
    addressType: addresses[0]?.includes(':') ? 'IPv6' : 'IPv4',
    ports: [{ name: 'main', protocol, port }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'node1',
    })),
    ...options.fields,
  };
}

export interface NodeOptions {
  readonly addresses?: readonly string[];
  readonly podCIDRs?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The Node `node1`. */
export function node(options: NodeOptions = {}): TestObject {
  const { addresses = ['172.31.0.11', 'fd00:31::11'], podCIDRs = ['10.244.1.0/24', 'fd00:244:1::/64'] } =
    options;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node1', labels: options.labels ?? {}, ...options.metadata },
    spec: { ...(podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs }), ...options.spec },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  };
}

export function serviceCIDR(name: string, cidrs: readonly string[]): TestObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name },
    spec: { cidrs },
    status: {},
  };
}
