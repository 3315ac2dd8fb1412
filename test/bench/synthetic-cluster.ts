import { type Endpoint, type EndpointSlice, noHints } from '../../src/kube/endpoint-slice.ts';
import type { Service } from '../../src/kube/service.ts';

/** One ClusterIP Service with a TCP port 80; number `i` decides name and address. */
export function syntheticService(i: number): Service {
  const clusterIP = `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  return {
    namespace: `ns-${i % 50}`,
    name: `svc-${i}`,
    resourceVersion: '1',
    creationTimestamp: 0,
    type: 'ClusterIP',
    clusterIP,
    clusterIPs: [clusterIP],
    ipFamilies: ['IPv4'],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 0 }],
    externalIPs: [],
    sessionAffinity: 'None',
    affinityTimeoutSeconds: undefined,
    loadBalancerSourceRanges: [],
    loadBalancerIngress: [],
    externalTrafficPolicy: '',
    internalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 0,
  };
}

/** The slice of Service `i` with `count` ready endpoints; `shift` gives other addresses to the last one. */
export function syntheticSlice(i: number, count: number, version: number, shift = 0): EndpointSlice {
  const endpoints: Endpoint[] = Array.from({ length: count }, (_, e) => {
    const pod = i * 64 + e + (e === count - 1 ? shift : 0);
    return {
      address: `10.${128 + ((pod >> 16) & 63)}.${(pod >> 8) & 255}.${pod & 255}`,
      ready: true,
      serving: true,
      terminating: false,
      nodeName: `node-${pod % 500}`,
      zoneHints: noHints,
      nodeHints: noHints,
    };
  });
  return {
    namespace: `ns-${i % 50}`,
    name: `svc-${i}-abcde`,
    resourceVersion: String(version),
    serviceName: `svc-${i}`,
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
    lastChangeTriggerTime: '',
  };
}
