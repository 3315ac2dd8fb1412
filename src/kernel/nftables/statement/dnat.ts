import type { Selector } from '../selector/selector.ts';
import type { NatFlag } from './nat-flag.ts';
import type { AnonymousAddressMap, SetReference } from './set-reference.ts';

/**
 * Gives the connection another destination: a constant, or what a map holds for what `key` loads.
 * A rule whose map has no entry does not match. Ports need a preceding match of the transport protocol.
 */
export interface DnatStatement {
  readonly kind: 'dnat';
  readonly to:
    | { readonly address: string; readonly port?: number }
    | {
        readonly key: readonly Selector[];
        readonly map: SetReference | AnonymousAddressMap;
        /** Whether the map's data is `address . port` rather than an address alone. Default: true. */
        readonly port?: boolean;
      };
  readonly flags?: readonly NatFlag[];
}
