/** Changes the packet's mark: `mark set mark or VALUE`, or with `set` replaces it. */
export interface MarkStatement {
  readonly kind: 'mark';
  readonly op: 'set' | 'or' | 'and' | 'xor';
  readonly value: number;
}
