/** A kernel expression we do not know, kept so that a listed rule never looks smaller than it is. */
export interface UnknownStatement {
  readonly kind: 'unknown';
  /** The kernel's name of the expression. */
  readonly name: string;
  /** Its attributes as received. */
  readonly raw: Uint8Array;
}
