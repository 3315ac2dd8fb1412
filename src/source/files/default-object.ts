import { familyOf, parseIp } from '../../base/ip.ts';
import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { Service } from '../../kube/service.ts';

/** Three hours: `sessionAffinityConfig.clientIP.timeoutSeconds` where a Service with affinity does not say. */
const defaultAffinityTimeoutSeconds = 10_800;

/**
 * Fills in what kube-apiserver would have filled in (core/v1 defaults), as far as a Service proxy reads it. Nothing is
 * allocated: a Service without `clusterIP` stays without. The decoder has already given ports without protocol TCP.
 */
export function defaultService(service: Service): Service {
  const type = service.type || 'ClusterIP';
  const isExternalName = type === 'ExternalName';
  const clusterIPs =
    service.clusterIPs.length > 0 || service.clusterIP === '' ? service.clusterIPs : [service.clusterIP];
  const hasAffinity = service.sessionAffinity === 'ClientIP';
  const isReachableFromOutside =
    type === 'NodePort' || type === 'LoadBalancer' || service.externalIPs.length > 0;
  return {
    ...service,
    type,
    clusterIP: service.clusterIP || (clusterIPs[0] ?? ''),
    clusterIPs,
    ipFamilies: service.ipFamilies.length > 0 ? service.ipFamilies : familiesOf(clusterIPs),
    sessionAffinity: service.sessionAffinity || 'None',
    affinityTimeoutSeconds: hasAffinity
      ? (service.affinityTimeoutSeconds ?? defaultAffinityTimeoutSeconds)
      : undefined,
    internalTrafficPolicy: service.internalTrafficPolicy || (isExternalName ? '' : 'Cluster'),
    externalTrafficPolicy: service.externalTrafficPolicy || (isReachableFromOutside ? 'Cluster' : ''),
    loadBalancerIngress: service.loadBalancerIngress.map((ingress) =>
      ingress.ip !== '' && ingress.ipMode === '' ? { ...ingress, ipMode: 'VIP' } : ingress,
    ),
  };
}

/** Fills in what kube-apiserver would have: a port without a name gets the name `''` (discovery/v1 defaults). */
export function defaultEndpointSlice(slice: EndpointSlice): EndpointSlice {
  if (slice.ports.every((port) => port.name !== undefined)) return slice;
  return { ...slice, ports: slice.ports.map((port) => ({ ...port, name: port.name ?? '' })) };
}

function familiesOf(clusterIPs: readonly string[]): readonly string[] {
  return clusterIPs.flatMap((text) => {
    const ip = parseIp(text);
    return ip === undefined ? [] : [familyOf(ip)];
  });
}
