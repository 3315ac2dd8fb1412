/** What a {@link NamespaceAgent} sends to the process in its namespace, one JSON object a line. */
export type AgentRequest =
  | { readonly op: 'sysctl'; readonly values: Readonly<Record<string, string | number>> }
  | {
      readonly op: 'listen';
      readonly addresses: readonly string[];
      readonly ports: readonly number[];
      readonly name?: string;
    }
  | { readonly op: 'probe'; readonly probe: ProbeRequest }
  /** Closes all connections, made and accepted. */
  | { readonly op: 'reset' }
  | { readonly op: 'flushConntrack' }
  /** Reads a file of /proc as the namespace shows it; null when there is none. */
  | { readonly op: 'readFile'; readonly path: string };

/** A number of requests from one address to another. */
export interface ProbeRequest {
  /** Source address; null leaves the choice to the kernel. */
  readonly bind: string | null;
  readonly host: string;
  readonly port: number;
  readonly proto: 'tcp' | 'udp' | 'http';
  /** For `http`. */
  readonly path: string;
  readonly count: number;
  /** Pause between requests; with it, or with `inSequence`, they are made one after another. */
  readonly gapMilliseconds: number;
  readonly inSequence: boolean;
  /** Key of a connection that stays open between probes; null: each request has a socket of its own. */
  readonly connection: string | null;
  readonly timeoutMilliseconds: number;
}

/** A request was answered by a test server. `local` is the address of the probing socket. */
export interface Answer {
  readonly server: string;
  readonly client: string;
  readonly local: string;
}

/** `failure` is one of the words of the scenario files: refused, timeout, unhandled, reset, closed, ... */
export interface Failure {
  readonly failure: string;
}

export interface HttpAnswer {
  readonly status: number;
  /** Parsed when it is JSON, else the text. */
  readonly body: unknown;
  /** Response header `X-Load-Balancing-Endpoint-Weight`. */
  readonly weight?: string;
}

export type RequestOutcome = Answer | Failure | HttpAnswer;
