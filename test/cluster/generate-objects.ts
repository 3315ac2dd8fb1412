import type { KubeObject } from './kube-object.ts';

/** The size and shape of a made-up cluster. */
export interface ClusterShape {
  readonly services: number;
  /** Endpoints of each Service. */
  readonly endpoints: number;
  /** Nodes that the endpoints are spread over, `node1` first. */
  readonly nodes?: number;
  /** How many endpoints of each Service are on `node1`; absent: whatever the spreading gives. */
  readonly local?: number;
  /** `IPv4` and `IPv6` clusterIPs and slices. */
  readonly dualStack?: boolean;
  /** Every nth Service is of type NodePort (at most 2,768 of them); 0: none. */
  readonly nodePortEvery?: number;
  /** Every nth Service has a UDP port in place of the TCP one; 0: none. */
  readonly udpEvery?: number;
  /** Whether Services and slices carry `metadata.managedFields`, as all objects of a real cluster do. */
  readonly managedFields?: boolean;
}

const slicesHoldAtMost = 100;
const zones = ['zone-a', 'zone-b', 'zone-c'];
const creation = Date.parse('2026-01-01T00:00:00Z');

/**
 * Services, their EndpointSlices, Nodes and the ServiceCIDR of a cluster of this shape, always the same ones for the
 * same shape. ClusterIPs count up from 10.96.0.10 (and fd00:10:96::a), pod addresses from 10.128.0.1 (and
 * fd00:10:128::1), no two alike. Throws RangeError for shapes that do not fit into these networks.
 */
export function* generateObjects(shape: ClusterShape): Generator<KubeObject> {
  const nodes = shape.nodes ?? 100;
  if (shape.services > 1_000_000 || shape.services * shape.endpoints > 8_000_000) {
    throw new RangeError('more than 1,000,000 Services or 8,000,000 endpoints do not fit into the networks');
  }
  yield {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes', creationTimestamp: timestamp(0) },
    spec: { cidrs: shape.dualStack === true ? ['10.96.0.0/12', 'fd00:10:96::/108'] : ['10.96.0.0/12'] },
    status: {},
  };
  for (let n = 1; n <= nodes; n++) yield nodeObject(n, shape);
  for (let i = 0; i < shape.services; i++) {
    yield serviceObject(i, shape);
    yield* sliceObjects(i, shape, 'IPv4', nodes);
    if (shape.dualStack === true) yield* sliceObjects(i, shape, 'IPv6', nodes);
  }
}

/** Namespace and name of the nth generated Service, counted from 0. */
export function generatedServiceName(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: `ns-${Math.floor(index / 100)}`, name: `svc-${index}` };
}

/** The nth generated Service. */
export function serviceObject(index: number, shape: ClusterShape): KubeObject {
  const { namespace, name } = generatedServiceName(index);
  const protocol = protocolOf(index, shape);
  const isNodePort = every(shape.nodePortEvery, index) && nodePortOf(index, shape) <= 32_767;
  const clusterIPs = [v4(0x0a600000, 10 + index)];
  if (shape.dualStack === true) clusterIPs.push(v6('fd00:10:96', 10 + index));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      creationTimestamp: timestamp(index),
      labels: { app: name },
      ...managedBy(shape, 'v1', index, serviceFields),
    },
    spec: {
      ports: [
        {
          name: 'http',
          protocol,
          port: 80,
          targetPort: 8080,
          ...(isNodePort ? { nodePort: nodePortOf(index, shape) } : {}),
        },
      ],
      selector: { app: name },
      clusterIP: clusterIPs[0],
      clusterIPs,
      type: isNodePort ? 'NodePort' : 'ClusterIP',
      sessionAffinity: 'None',
      ...(isNodePort ? { externalTrafficPolicy: 'Cluster' } : {}),
      ipFamilies: shape.dualStack === true ? ['IPv4', 'IPv6'] : ['IPv4'],
      ipFamilyPolicy: shape.dualStack === true ? 'RequireDualStack' : 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: {} },
  };
}

/** The slices of one family of the nth Service. `generation` 1 puts its pods at other addresses, for churn. */
export function* sliceObjects(
  index: number,
  shape: ClusterShape,
  family: 'IPv4' | 'IPv6',
  nodes: number,
  generation: 0 | 1 = 0,
): Generator<KubeObject> {
  const { namespace, name } = generatedServiceName(index);
  const suffix = family === 'IPv4' ? '' : '-v6';
  for (let first = 0, slice = 0; first < Math.max(1, shape.endpoints); first += slicesHoldAtMost, slice++) {
    const endpoints: object[] = [];
    for (let e = first; e < Math.min(first + slicesHoldAtMost, shape.endpoints); e++) {
      const pod = index * shape.endpoints + e;
      const node = nodeOf(index, e, shape, nodes);
      // Pods of later generations come from the upper half of the pod network.
      const offset = 1 + pod + generation * 4_000_000;
      endpoints.push({
        addresses: [family === 'IPv4' ? v4(0x0a800000, offset) : v6('fd00:10:128', offset)],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod', namespace, name: `${name}-${e}`, uid: uid(pod) },
        nodeName: `node${node}`,
        zone: zones[(node - 1) % zones.length],
      });
    }
    yield {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${name}${suffix}-${slice}`,
        namespace,
        creationTimestamp: timestamp(index),
        labels: {
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          'kubernetes.io/service-name': name,
        },
        ...managedBy(shape, 'discovery.k8s.io/v1', index, sliceFields),
      },
      addressType: family,
      endpoints,
      ports: [{ name: 'http', protocol: protocolOf(index, shape), port: 8080 }],
    };
  }
}

const serviceFields = {
  'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
  'f:spec': {
    'f:internalTrafficPolicy': {},
    'f:ports': {
      '.': {},
      'k:{"port":80,"protocol":"TCP"}': {
        '.': {},
        'f:name': {},
        'f:port': {},
        'f:protocol': {},
        'f:targetPort': {},
      },
    },
    'f:selector': {},
    'f:sessionAffinity': {},
    'f:type': {},
  },
};
const sliceFields = {
  'f:addressType': {},
  'f:endpoints': {},
  'f:metadata': {
    'f:labels': {
      '.': {},
      'f:endpointslice.kubernetes.io/managed-by': {},
      'f:kubernetes.io/service-name': {},
    },
  },
  'f:ports': {},
};

function managedBy(shape: ClusterShape, apiVersion: string, index: number, fieldsV1: object): object {
  if (shape.managedFields !== true) return {};
  const time = timestamp(index);
  const entry = { manager: 'kube-controller-manager', operation: 'Update', apiVersion, time };
  return { managedFields: [{ ...entry, fieldsType: 'FieldsV1', fieldsV1 }] };
}

function nodeObject(number: number, shape: ClusterShape): KubeObject {
  const dual = shape.dualStack === true;
  const podCIDRs = [`10.${128 + (number >> 8)}.${number & 255}.0/24`];
  if (dual) podCIDRs.push(`fd00:10:128:${number.toString(16)}::/64`);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node${number}`,
      creationTimestamp: timestamp(0),
      labels: {
        'kubernetes.io/hostname': `node${number}`,
        'topology.kubernetes.io/zone': zones[(number - 1) % zones.length]!,
      },
    },
    spec: { podCIDR: podCIDRs[0], podCIDRs },
    status: {
      addresses: [
        { type: 'InternalIP', address: v4(0xc0a80000, 10 + number) },
        ...(dual ? [{ type: 'InternalIP', address: v6('fd00:192:168', 10 + number) }] : []),
        { type: 'Hostname', address: `node${number}` },
      ],
    },
  };
}

function nodeOf(service: number, endpoint: number, shape: ClusterShape, nodes: number): number {
  const { local } = shape;
  if (local === undefined || nodes === 1) return ((service * 7 + endpoint) % nodes) + 1;
  return endpoint < local ? 1 : ((service * 7 + endpoint) % (nodes - 1)) + 2;
}

function protocolOf(index: number, shape: ClusterShape): 'TCP' | 'UDP' {
  return every(shape.udpEvery, index) ? 'UDP' : 'TCP';
}

function nodePortOf(index: number, shape: ClusterShape): number {
  return 30_000 + Math.floor(index / (shape.nodePortEvery ?? 1));
}

function every(n: number | undefined, index: number): boolean {
  return n !== undefined && n > 0 && index % n === 0;
}

function v4(base: number, offset: number): string {
  const value = base + offset;
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

function v6(prefix: string, offset: number): string {
  const high = offset >>> 16;
  const low = (offset & 0xffff).toString(16);
  return high === 0 ? `${prefix}::${low}` : `${prefix}::${high.toString(16)}:${low}`;
}

function timestamp(seconds: number): string {
  return `${new Date(creation + seconds * 1000).toISOString().slice(0, 19)}Z`;
}

function uid(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}
