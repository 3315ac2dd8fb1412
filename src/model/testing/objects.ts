import { type EndpointSlice, type Endpoint as KubeEndpoint, noHints } from '../../kube/endpoint-slice.ts';
import type { ServicePort as KubeServicePort, Service } from '../../kube/service.ts';

/** Fields of a Service that a test cares about. */
export type ServiceFields = Partial<Omit<Service, 'ports'>> & {
  readonly ports?: readonly Partial<KubeServicePort>[];
};

/** A kube.Service with the given fields; everything else as absent. */
export function service(fields: ServiceFields = {}): Service {
  return {
    namespace: 'default',
    name: 'web',
    resourceVersion: '',
    creationTimestamp: 0,
    type: 'ClusterIP',
    clusterIP: '10.96.0.10',
    clusterIPs: [],
    ipFamilies: [],
    externalIPs: [],
    sessionAffinity: '',
    affinityTimeoutSeconds: undefined,
    loadBalancerSourceRanges: [],
    loadBalancerIngress: [],
    externalTrafficPolicy: '',
    internalTrafficPolicy: '',
    healthCheckNodePort: 0,
    ...fields,
    ports: (fields.ports ?? [{}]).map((port) => ({
      name: '',
      protocol: 'TCP',
      port: 80,
      nodePort: 0,
      ...port,
    })),
  };
}

/** A kube.Endpoint; conditions and hints absent unless given. */
export function endpoint(address: string, fields: Partial<KubeEndpoint> = {}): KubeEndpoint {
  return {
    address,
    ready: undefined,
    serving: undefined,
    terminating: undefined,
    nodeName: undefined,
    zoneHints: noHints,
    nodeHints: noHints,
    ...fields,
  };
}

/** A kube.EndpointSlice of Service `web` with one unnamed TCP port 8080, unless told otherwise. */
export function slice(fields: Partial<EndpointSlice> = {}): EndpointSlice {
  return {
    namespace: 'default',
    name: `${fields.serviceName ?? 'web'}-1`,
    resourceVersion: '',
    serviceName: 'web',
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [],
    lastChangeTriggerTime: '',
    ...fields,
  };
}
