import type { AgentRequest, ProbeRequest, RequestOutcome } from './agent-protocol.ts';
import { LineProcess } from './line-process.ts';

const AGENT = new URL('./agent.ts', import.meta.url);

/** The process inside one namespace, see agent.ts. */
export class NamespaceAgent {
  readonly #process: LineProcess;

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  /** Starts the agent in an existing namespace. `namespace` is the full name. */
  static start(namespace: string): NamespaceAgent {
    return new NamespaceAgent(LineProcess.start(namespace, AGENT));
  }

  async setSysctls(values: Readonly<Record<string, string | number>>): Promise<void> {
    await this.#send({ op: 'sysctl', values });
  }

  /** Starts IdentityServers. */
  async listen(addresses: readonly string[], ports: readonly number[], name?: string): Promise<void> {
    await this.#send({ op: 'listen', addresses, ports, ...(name === undefined ? {} : { name }) });
  }

  async probe(probe: ProbeRequest): Promise<RequestOutcome[]> {
    return (await this.#send({ op: 'probe', probe })) as RequestOutcome[];
  }

  /** Closes all connections, made and accepted. */
  async reset(): Promise<void> {
    await this.#send({ op: 'reset' });
  }

  async flushConntrack(): Promise<void> {
    await this.#send({ op: 'flushConntrack' });
  }

  /** A file of /proc as the namespace shows it, or null when there is none. */
  async readFile(path: string): Promise<string | null> {
    return (await this.#send({ op: 'readFile', path })) as string | null;
  }

  /** Ends the process and waits for it. */
  stop(): Promise<void> {
    return this.#process.stop();
  }

  #send(request: AgentRequest): Promise<unknown> {
    return this.#process.request(request);
  }
}
