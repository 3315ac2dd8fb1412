import type { ProbeRequest, RequestOutcome } from './agent-protocol.ts';
import type { Connection, ConnectionTarget } from './connection.ts';
import { DatagramConnection } from './datagram-connection.ts';
import { httpRequest } from './http-request.ts';
import { LineConnection } from './line-connection.ts';
import { SourcePorts } from './source-ports.ts';

/** Requests of one probe that are under way at the same time. */
const PARALLEL_REQUESTS = 4;

/** Makes the requests of probes and keeps their labelled connections. */
export class Prober {
  readonly #ports = new SourcePorts();
  readonly #labelled = new Map<string, Connection>();

  /** When the first requests all fail in the same way, the rest is not made. */
  async probe(request: ProbeRequest): Promise<RequestOutcome[]> {
    const parallel =
      request.inSequence || request.gapMilliseconds > 0 || request.connection !== null
        ? 1
        : PARALLEL_REQUESTS;
    const outcomes: RequestOutcome[] = [];
    while (outcomes.length < request.count) {
      if (outcomes.length > 0 && request.gapMilliseconds > 0) await delay(request.gapMilliseconds);
      const batch = Math.min(parallel, request.count - outcomes.length);
      outcomes.push(...(await Promise.all(Array.from({ length: batch }, () => this.#request(request)))));
      if (outcomes.length === PARALLEL_REQUESTS && allFailAlike(outcomes)) break;
    }
    return outcomes;
  }

  /** Closes the labelled connections. */
  reset(): void {
    for (const connection of this.#labelled.values()) connection.close();
    this.#labelled.clear();
  }

  async #request(request: ProbeRequest): Promise<RequestOutcome> {
    const { timeoutMilliseconds } = request;
    if (request.proto === 'http')
      return httpRequest(this.#target(request), request.path, timeoutMilliseconds);
    if (request.connection !== null) {
      return this.#labelledConnection(request, request.connection).ask(timeoutMilliseconds);
    }
    for (;;) {
      const connection = this.#open(request);
      const outcome = await connection.ask(timeoutMilliseconds);
      connection.close();
      // The port is still taken by a labelled connection or a dying socket: no statement about the path.
      if (!('failure' in outcome) || outcome.failure !== 'EADDRINUSE') return outcome;
    }
  }

  #labelledConnection(request: ProbeRequest, label: string): Connection {
    const known = this.#labelled.get(label);
    if (known !== undefined) return known;
    const connection = this.#open(request);
    this.#labelled.set(label, connection);
    return connection;
  }

  #open(request: ProbeRequest): Connection {
    const target = this.#target(request);
    return request.proto === 'udp' ? new DatagramConnection(target) : new LineConnection(target);
  }

  #target({ host, port, bind }: ProbeRequest): ConnectionTarget {
    return { host, port, bind, localPort: this.#ports.take() };
  }
}

function allFailAlike(outcomes: readonly RequestOutcome[]): boolean {
  const [first] = outcomes;
  if (first === undefined || !('failure' in first)) return false;
  return outcomes.every((outcome) => 'failure' in outcome && outcome.failure === first.failure);
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
