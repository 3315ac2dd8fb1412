import type { StatementCodec } from './codec.ts';
import type { NatFlag } from './nat-flag.ts';
import { natFlagBits, natFlags, natFlagsText } from './nat-flag.ts';

/** Gives the connection the address of the interface it leaves by as source. Postrouting only. */
export interface MasqueradeStatement {
  readonly kind: 'masquerade';
  readonly flags?: readonly NatFlag[];
}

export const masqueradeCodec: StatementCodec<MasqueradeStatement> = {
  compile(builder, { flags }) {
    builder.emit({ kind: 'masq', flags: natFlagBits(flags) });
  },

  recognize(cursor) {
    const masq = cursor.take('masq');
    if (masq === undefined) return undefined;
    const flags = natFlags(masq.flags);
    return flags.length === 0 ? { kind: 'masquerade' } : { kind: 'masquerade', flags };
  },

  text: ({ flags }) => `masquerade${natFlagsText(flags)}`,
};
