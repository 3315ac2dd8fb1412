/** The part of a `metav1.Status` that a client acts on: how an API server says that a request failed. */
export interface Status {
  /** `Failure` or `Success`. */
  readonly status: string;
  readonly message: string;
  /** A `metav1.StatusReason` such as `Expired`, or `''`. */
  readonly reason: string;
  /** The HTTP status code that goes with it, 0 where absent. */
  readonly code: number;
  /** `details.retryAfterSeconds`, 0 where absent. */
  readonly retryAfterSeconds: number;
  /** `details.causes[].reason`, e.g. `ResourceVersionTooLarge`. */
  readonly causes: readonly string[];
}
