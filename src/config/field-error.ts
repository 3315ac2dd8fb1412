export type FieldErrorKind = 'Invalid value' | 'Unsupported value' | 'Forbidden' | 'Required value';

/**
 * A value that validation refuses. `field` is upstream's internal path (operations 2.4), which operators' scripts look for;
 * `source` is the field of the file, by JSON names, that the value came from.
 */
export interface FieldError {
  readonly field: string;
  readonly kind: FieldErrorKind;
  readonly value: unknown;
  readonly message: string;
  readonly source: string;
  /** Where the value was given: `FILE:LINE` or `--flag`; absent for a default. */
  readonly place?: string;
}

/** `PATH: KIND: VALUE: MESSAGE (source, place)`; without a value for kinds that have none. */
function describeFieldError(error: FieldError): string {
  const value =
    error.kind === 'Forbidden' || error.kind === 'Required value'
      ? ''
      : `: ${JSON.stringify(error.value) ?? 'null'}`;
  const origin = error.place === undefined ? error.source : `${error.source}, ${error.place}`;
  return `${error.field}: ${error.kind}${value}: ${error.message} (${origin})`;
}

/** One error as it is, several as `[e1, e2]`, identical ones once (operations 2.4). */
export function describeFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(describeFieldError))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
}
