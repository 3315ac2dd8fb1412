/** Where API objects come from. A source is built with the sinks it fills; nothing happens before `start`. */
export interface Source {
  /**
   * Begins to deliver and goes on until `signal` is aborted; resolves when everything has stopped.
   * Never rejects for a reason that can pass (an API server that is away, a broken file): those are logged and retried.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Monotonic time (ms, see Clock) of the last sign of life per resource; undefined before the first. For health and metrics. */
  lastContact(): number | undefined;
}
