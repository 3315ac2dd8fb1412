/** Counts packets and bytes that get here. The values are what a listing found, or what to start with. */
export interface CounterStatement {
  readonly kind: 'counter';
  readonly packets?: bigint;
  readonly bytes?: bigint;
}
