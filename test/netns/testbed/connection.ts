import type { Answer, Failure } from './agent-protocol.ts';

export interface ConnectionTarget {
  readonly host: string;
  readonly port: number;
  /** Source address; null leaves the choice to the kernel. */
  readonly bind: string | null;
  readonly localPort: number;
}

/** A socket that asks a test server who it is. The first question opens it; one question at a time. */
export interface Connection {
  /** Resolves within the timeout, which includes opening the socket. Never rejects. */
  ask(timeoutMilliseconds: number): Promise<Answer | Failure>;
  close(): void;
}
