/** Kubernetes JSON objects of a large cluster, as controllers write them; deterministic. */

const created = '2026-01-02T03:04:05Z';

function uid(prefix: string, i: number): string {
  return `${prefix}-0000-4000-8000-${String(i).padStart(12, '0')}`;
}

function clusterIP(i: number): string {
  return `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
}

/** Services `ns-0/service-0` … with one port each and a ClusterIP. */
export function largeServices(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `service-${i}`,
      namespace: `ns-${i % 50}`,
      uid: uid('5e4f1ce0', i),
      resourceVersion: String(1_000_000 + i),
      creationTimestamp: created,
      labels: { app: `app-${i}` },
      managedFields: [
        {
          manager: 'kubectl',
          operation: 'Update',
          apiVersion: 'v1',
          time: created,
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:internalTrafficPolicy': {},
              'f:ports': { '.': {}, 'k:{"port":80}': { '.': {}, 'f:port': {} } },
              'f:selector': {},
            },
          },
        },
      ],
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: clusterIP(i + 10),
      clusterIPs: [clusterIP(i + 10)],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
      selector: { app: `app-${i}` },
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
    },
    status: { loadBalancer: {} },
  }));
}

/** One slice per Service of {@link largeServices}, its endpoints spread over 500 nodes in three zones. */
export function largeEndpointSlices(count: number, endpointsPerSlice: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `service-${i}-x7k2p`,
      namespace: `ns-${i % 50}`,
      uid: uid('5110ce00', i),
      resourceVersion: String(2_000_000 + i),
      generation: 3,
      creationTimestamp: created,
      labels: {
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': `service-${i}`,
      },
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': created },
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpointsPerSlice }, (_, e) => {
      const pod = i * endpointsPerSlice + e;
      return {
        addresses: [`10.${128 + (pod >> 16)}.${(pod >> 8) & 255}.${pod & 255}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: `node-${pod % 500}`,
        zone: `zone-${pod % 3}`,
      };
    }),
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  }));
}
