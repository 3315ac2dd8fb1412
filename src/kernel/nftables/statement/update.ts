import type { Selector } from '../selector/selector.ts';

/**
 * Adds an element to a set with the flag `dynamic`: `add` keeps the life time of one that is there, `update` restarts
 * it. When the set is full the rule stops matching here. With `data` the set is a map.
 */
export interface UpdateStatement {
  readonly kind: 'update';
  readonly op: 'add' | 'update' | 'delete';
  readonly set: string;
  readonly key: readonly Selector[];
  readonly data?: readonly Selector[];
  /** Life time of the element; default: that of the set. */
  readonly timeoutMs?: number;
}
