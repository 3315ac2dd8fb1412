import type { ClusterSinks } from '../kube/cluster-sinks.ts';
import type { EndpointSlice } from '../kube/endpoint-slice.ts';
import type { Node } from '../kube/node.ts';
import type { ObjectSink } from '../kube/object-sink.ts';
import type { Service } from '../kube/service.ts';
import type { ServiceCIDR } from '../kube/service-cidr.ts';
import type { FamilySync } from '../sync/family-sync.ts';
import type { ProblemLog } from './problem-log.ts';

/** Hands what a source delivers to every family's loop; each picks what is of its family. */
export function familySinks(
  syncs: readonly FamilySync[],
  nodes: ObjectSink<Node>,
  serviceCIDRs: ObjectSink<ServiceCIDR>,
  problems: Pick<ProblemLog, 'forget'>,
): ClusterSinks {
  const services: ObjectSink<Service> = {
    set: (service) => {
      problems.forget('Service', service.namespace, service.name);
      for (const sync of syncs) sync.setService(service);
    },
    delete: (namespace, name) => {
      problems.forget('Service', namespace, name);
      for (const sync of syncs) sync.deleteService(namespace, name);
    },
    synced: () => {
      for (const sync of syncs) sync.servicesSynced();
    },
  };
  const endpointSlices: ObjectSink<EndpointSlice> = {
    set: (slice) => {
      problems.forget('EndpointSlice', slice.namespace, slice.name);
      for (const sync of syncs) sync.setEndpointSlice(slice);
    },
    delete: (namespace, name) => {
      problems.forget('EndpointSlice', namespace, name);
      for (const sync of syncs) sync.deleteEndpointSlice(namespace, name);
    },
    synced: () => {
      for (const sync of syncs) sync.endpointSlicesSynced();
    },
  };
  return { services, endpointSlices, nodes, serviceCIDRs };
}
