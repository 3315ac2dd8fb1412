import type { StatementCodec } from './codec.ts';
/** Counts packets and bytes that get here. The values are what a listing found, or what to start with. */
export interface CounterStatement {
  readonly kind: 'counter';
  readonly packets?: bigint;
  readonly bytes?: bigint;
}

export const counterCodec: StatementCodec<CounterStatement> = {
  compile(builder, { packets = 0n, bytes = 0n }) {
    builder.emit({ kind: 'counter', packets, bytes });
  },

  recognize(cursor) {
    const counter = cursor.take('counter');
    if (counter === undefined) return undefined;
    const { packets, bytes } = counter;
    return packets === 0n && bytes === 0n ? { kind: 'counter' } : { kind: 'counter', packets, bytes };
  },

  /** Without the values: they are no part of what a rule says. */
  text: () => 'counter',
};
