/** How one field of a Kubernetes message travels; numbers and order are those of the `generated.proto` files. */
export interface FieldShape {
  readonly number: number;
  /** Name in the JSON form. */
  readonly name: string;
  readonly type: FieldType;
  /**
   * `always` is written even when empty (a Go value), `optional` only when the JSON has it (a Go pointer),
   * `repeated` once per element.
   */
  readonly presence: 'always' | 'optional' | 'repeated';
}

export type FieldType =
  | 'string'
  | 'bool'
  | 'int'
  /** `metav1.Time`: RFC 3339 in JSON, seconds in a message of its own here. */
  | 'time'
  /** A number or a string in JSON. */
  | 'intOrString'
  /** Any JSON value, kept as its text in a message `{1: bytes}`. */
  | 'fieldsV1'
  /** A quantity: a string in JSON, a message `{1: string}` here. */
  | 'quantity'
  | 'stringMap'
  | 'quantityMap'
  | readonly FieldShape[];

const shape =
  (presence: FieldShape['presence']) =>
  (number: number, name: string, type: FieldType = 'string'): FieldShape => ({
    number,
    name,
    type,
    presence,
  });

export const always = shape('always');
export const optional = shape('optional');
export const repeated = shape('repeated');
