import type { ResourceName } from './resources.ts';

/** What a request is, as far as a fault may choose by it. */
export interface RequestClass {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'patch';
  readonly resource: ResourceName | 'events' | undefined;
  readonly format: 'json' | 'protobuf' | undefined;
}

/** How a connection ends: `reset` sends RST, `close` a FIN in the middle of the body, `end` completes the HTTP body. */
export type CutStyle = 'reset' | 'close' | 'end';

export type FaultAction =
  /** Answers with this status code and a Status body. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  /** Takes the request and never answers; the socket stays open. */
  | { readonly kind: 'hang' }
  /** Answers correctly, but this much later. */
  | { readonly kind: 'delay'; readonly milliseconds: number }
  /** Ends the connection after this many bytes of the body. */
  | { readonly kind: 'cut'; readonly afterBytes: number; readonly how?: CutStyle }
  /** Sends nothing more after this many bytes of the body; the socket stays open. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** Sends the body at this pace. */
  | { readonly kind: 'trickle'; readonly bytesPerSecond: number }
  /** Overwrites bytes of the body, beginning at this offset. */
  | { readonly kind: 'corrupt'; readonly atByte: number; readonly hex: string }
  /** Answers that the asked version is gone: with HTTP 410, or in the stream of a watch (a list always gets HTTP). */
  | { readonly kind: 'expired'; readonly form: 'http' | 'stream' }
  /** Answers 406 when protobuf was asked for. */
  | { readonly kind: 'refuse-protobuf' };

export interface Fault {
  /** Which requests are hit; what is absent matches all. */
  readonly on?: Partial<RequestClass>;
  /** How many matching requests go by unharmed first. */
  readonly skip?: number;
  /** How many matching requests are hit, 1 where absent; `0` means all until the faults are cleared. */
  readonly times?: number;
  readonly action: FaultAction;
}

/** Faults waiting for their requests. The first one that matches and is not used up is taken. */
export class FaultQueue {
  #entries: { readonly fault: Fault; skip: number; left: number }[] = [];

  add(fault: Fault): void {
    const times = fault.times ?? 1;
    this.#entries.push({
      fault,
      skip: fault.skip ?? 0,
      left: times === 0 ? Number.POSITIVE_INFINITY : times,
    });
  }

  clear(): void {
    this.#entries = [];
  }

  list(): readonly Fault[] {
    return this.#entries.map((entry) => entry.fault);
  }

  take(request: RequestClass): FaultAction | undefined {
    for (const entry of this.#entries) {
      if (!matches(entry.fault.on, request)) continue;
      if (entry.skip > 0) {
        entry.skip -= 1;
        continue;
      }
      entry.left -= 1;
      if (entry.left <= 0) this.#entries = this.#entries.filter((other) => other !== entry);
      return entry.fault.action;
    }
    return undefined;
  }
}

function matches(on: Partial<RequestClass> | undefined, request: RequestClass): boolean {
  if (on === undefined) return true;
  return (
    (on.verb === undefined || on.verb === request.verb) &&
    (on.resource === undefined || on.resource === request.resource) &&
    (on.format === undefined || on.format === request.format)
  );
}
