/** What every typed error carries: a stable code, listed in docs/errors.md, and the fields that name what is at fault. */
export interface ErrorDetail {
  readonly code: string;
}

/**
 * Base of all errors that Fairlead raises on purpose. Callers match on `detail.code`, never on the message.
 * A detail type is a closed union, so that a `switch` over the code is checked by the compiler.
 */
export class FairleadError<Detail extends ErrorDetail = ErrorDetail> extends Error {
  readonly detail: Detail;

  constructor(detail: Detail, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.detail = detail;
  }

  get code(): Detail['code'] {
    return this.detail.code;
  }
}

/** The stable code of an error, or `undefined` for errors that are not ours. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof FairleadError ? error.code : undefined;
}

/** One line that says what went wrong, causes included; for logs. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `: ${describeError(error.cause)}`;
  return `${error.message}${cause}`;
}
