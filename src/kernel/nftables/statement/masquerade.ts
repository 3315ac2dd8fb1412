import type { NatFlag } from './nat-flag.ts';

/** Gives the connection the address of the interface it leaves by as source. Postrouting only. */
export interface MasqueradeStatement {
  readonly kind: 'masquerade';
  readonly flags?: readonly NatFlag[];
}
