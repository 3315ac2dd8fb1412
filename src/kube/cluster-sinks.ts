import type { EndpointSlice } from './endpoint-slice.ts';
import type { Node } from './node.ts';
import type { ObjectSink } from './object-sink.ts';
import type { Service } from './service.ts';
import type { ServiceCIDR } from './service-cidr.ts';

/**
 * The four kinds a source delivers, already filtered as kube-proxy's selectors do (spec A.1.1): Services without the
 * label `service.kubernetes.io/service-proxy-name` and with `clusterIP` other than `None`; EndpointSlices without the
 * label `service.kubernetes.io/headless`; the Node of this name; all ServiceCIDRs.
 */
export interface ClusterSinks {
  readonly services: ObjectSink<Service>;
  readonly endpointSlices: ObjectSink<EndpointSlice>;
  readonly nodes: ObjectSink<Node>;
  readonly serviceCIDRs: ObjectSink<ServiceCIDR>;
}
