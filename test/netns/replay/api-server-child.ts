// The stand-in API server inside the namespace of a node, fed by JSON lines: see ApiServerFeed.
import { ApiServer } from '../../cluster/api-server.ts';
import { resourceOfKind } from '../../cluster/resources.ts';
import { serveLines } from '../testbed/serve-lines.ts';
import type { KubeObject, ObjectReference } from './scenario.ts';

/** `listen` answers with the URL of the server. */
export type ApiServerRequest =
  | { readonly op: 'listen' }
  | { readonly op: 'put'; readonly object: KubeObject }
  | { readonly op: 'remove'; readonly reference: ObjectReference };

const server = new ApiServer();

serveLines<ApiServerRequest>(async (request) => {
  switch (request.op) {
    case 'listen':
      await server.listen();
      return server.url;
    case 'put':
      server.store.apply(request.object);
      return null;
    case 'remove': {
      const { kind, namespace, name } = request.reference;
      const resource = resourceOfKind(kind);
      const known = resource !== undefined && server.store.delete(resource.name, namespace, name);
      if (!known) throw new Error(`no ${kind} ${namespace ?? ''}/${name} to remove`);
      return null;
    }
  }
});
