import type { Topology } from '../testbed/topology.ts';
import type { KubeObject, Scenario } from './scenario.ts';

/** Addresses of the marker Service, which tells when a change has reached the kernel. */
export const MARKER_ADDRESSES = ['10.96.255.250', 'fd00:10:96::fffa'] as const;
/** The pod behind the marker Service, and the source that asks it. */
const MARKER_POD = 'pod-c';
export const MARKER_CLIENT = 'pod-b';
const MARKER_FIRST_PORT = 20_000;

/** The objects that exist in every scenario beside its own: Nodes, ServiceCIDR and the Service of the API server. */
export function standingObjects(topology: Topology, scenario: Pick<Scenario, 'node'>): KubeObject[] {
  const nodes = Object.entries(topology.nodes).map(([name, { internalIPs, podCIDRs }]): KubeObject => {
    const labels = { 'kubernetes.io/hostname': name, ...(name === 'node1' ? scenario.node?.labels : {}) };
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      spec: { podCIDR: podCIDRs[0], podCIDRs },
      status: {
        addresses: [
          ...internalIPs.map((address) => ({ type: 'InternalIP', address })),
          { type: 'Hostname', address: name },
        ],
      },
    };
  });
  return [
    ...nodes,
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: 'kubernetes' },
      spec: { cidrs: topology.serviceCIDRs },
      status: {
        conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: EPOCH }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
      },
    },
  ];
}

const EPOCH = '2024-01-01T00:00:00Z';

/** The port on which the marker Service answers once everything up to this step (0: before the steps) is applied. */
export function markerPort(step: number): number {
  return MARKER_FIRST_PORT + step;
}

/** The marker Service as it stands at a step. */
export function markerService(step: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'oracle-marker', namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      clusterIP: MARKER_ADDRESSES[0],
      clusterIPs: MARKER_ADDRESSES,
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ name: 'marker', protocol: 'TCP', port: markerPort(step), targetPort: 8082 }],
    },
  };
}

/** The endpoints of the marker Service, one slice for each family. */
export function markerSlices(topology: Topology): KubeObject[] {
  const pod = topology.sources[MARKER_POD];
  const families = { IPv4: pod?.ipv4, IPv6: pod?.ipv6 };
  return Object.entries(families).map(([addressType, address]) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `oracle-marker-${addressType.toLowerCase()}`,
      namespace: 'default',
      labels: {
        'kubernetes.io/service-name': 'oracle-marker',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType,
    ports: [{ name: 'marker', protocol: 'TCP', port: 8082 }],
    endpoints: [
      {
        addresses: [address],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: 'node1',
      },
    ],
  }));
}
