import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { KindDecoder, KubeObject } from '../../kube/kind-decoder.ts';
import { endpointSliceKind, nodeKind, serviceCIDRKind, serviceKind } from '../../kube/kind-decoders.ts';
import type { Node } from '../../kube/node.ts';
import type { Service } from '../../kube/service.ts';
import type { ServiceCIDR } from '../../kube/service-cidr.ts';

/** One collection of the API and the part of it that is wanted. */
export interface ApiResource<T extends KubeObject> {
  /** Lower-case plural, for logs and metrics. */
  readonly name: string;
  readonly path: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly decoder: KindDecoder<T>;
  /** A server may lack the whole API; then there are simply no such objects. */
  readonly isOptional: boolean;
}

/** Services that are ours to serve (spec A.1.1). */
export const services: ApiResource<Service> = {
  name: 'services',
  path: '/api/v1/services',
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
  decoder: serviceKind,
  isOptional: false,
};

/** Slices of all Services that are not headless (spec A.1.1). */
export const endpointSlices: ApiResource<EndpointSlice> = {
  name: 'endpointslices',
  path: '/apis/discovery.k8s.io/v1/endpointslices',
  labelSelector: '!service.kubernetes.io/headless',
  fieldSelector: '',
  decoder: endpointSliceKind,
  isOptional: false,
};

/** The one Node of this name. */
export function nodeNamed(name: string): ApiResource<Node> {
  return {
    name: 'nodes',
    path: '/api/v1/nodes',
    labelSelector: '',
    fieldSelector: `metadata.name=${name}`,
    decoder: nodeKind,
    isOptional: false,
  };
}

/** All ServiceCIDRs; servers before 1.33 may not have the API. */
export const serviceCIDRs: ApiResource<ServiceCIDR> = {
  name: 'servicecidrs',
  path: '/apis/networking.k8s.io/v1/servicecidrs',
  labelSelector: '',
  fieldSelector: '',
  decoder: serviceCIDRKind,
  isOptional: true,
};

/** Path and query of a request: the selectors first, then the parameters in their order. */
export function resourcePath(
  resource: ApiResource<KubeObject>,
  parameters: Readonly<Record<string, string | number | boolean>>,
): string {
  const query = {
    labelSelector: resource.labelSelector,
    fieldSelector: resource.fieldSelector,
    ...parameters,
  };
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? resource.path : `${resource.path}?${pairs.join('&')}`;
}
