import type { KubeObject, ObjectReference } from './scenario.ts';

/** How the proxy under test learns of objects. The order of calls is the order in which changes become visible. */
export interface ObjectFeed {
  /** Where the proxy reads: exactly one of the two is set. */
  readonly location: { readonly manifests: string } | { readonly kubeconfig: string };
  /** Creates the object or replaces it as a whole. */
  put(object: KubeObject): Promise<void>;
  /** Removes an object that exists. */
  remove(reference: ObjectReference): Promise<void>;
  /** Frees what the feed holds. */
  close(): Promise<void>;
}
