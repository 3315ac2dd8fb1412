import type { Selector } from '../selector/selector.ts';
import type { AnonymousVerdictMap, SetReference } from './set-reference.ts';

/** Looks up a verdict by what `key` loads; the rule goes on to the next one when there is none. */
export interface VmapStatement {
  readonly kind: 'vmap';
  readonly key: readonly Selector[];
  readonly map: SetReference | AnonymousVerdictMap;
}
