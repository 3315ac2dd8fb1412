import type { Status } from './status.ts';

/**
 * One event of a watch stream. An object that could not be decoded is delivered as `BAD`, so that the stream goes on;
 * that it is gone can still be told where its name can be read.
 */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | {
      readonly type: 'BOOKMARK';
      readonly resourceVersion: string;
      /** Annotation `k8s.io/initial-events-end`: all objects that existed at the start of the watch have been sent. */
      readonly initialEventsEnd: boolean;
    }
  | { readonly type: 'ERROR'; readonly status: Status }
  | { readonly type: 'BAD'; readonly bad: BadObject; readonly isDeletion: boolean };

/** An object that cannot be used: what is known of it, and why. */
export interface BadObject {
  readonly kind: string;
  /** `''` where unknown or not namespaced. */
  readonly namespace: string;
  /** `''` where unknown. */
  readonly name: string;
  readonly resourceVersion: string;
  readonly reason: string;
}
