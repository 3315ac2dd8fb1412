import type { ClusterSinks } from '../kube/cluster-sinks.ts';
import type { ObjectSink } from '../kube/object-sink.ts';

/**
 * The same sinks, and a promise that resolves when the first of the kinds is known in full: the source can be read then.
 * Any kind will do, because a permission may be missing for one of them.
 */
export function noteReached(sinks: ClusterSinks): {
  readonly sinks: ClusterSinks;
  readonly reached: Promise<void>;
} {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  const noting = <T>(sink: ObjectSink<T>): ObjectSink<T> => ({
    set: (object) => sink.set(object),
    delete: (namespace, name) => sink.delete(namespace, name),
    synced: () => {
      sink.synced();
      resolve();
    },
  });
  return {
    sinks: {
      services: noting(sinks.services),
      endpointSlices: noting(sinks.endpointSlices),
      nodes: noting(sinks.nodes),
      serviceCIDRs: noting(sinks.serviceCIDRs),
    },
    reached,
  };
}
