import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AgentRequest, AgentResponse, ProbeRequest, RequestOutcome } from './agent-protocol.ts';

const AGENT = fileURLToPath(new URL('./agent.ts', import.meta.url));

/** The process inside one namespace, see agent.ts. */
export class NamespaceAgent {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #stderr = '';
  #ended: Error | undefined;

  private constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
  }

  /** Starts the agent in an existing namespace. `name` is the full name of the namespace. */
  static start(name: string): NamespaceAgent {
    const argv = ['netns', 'exec', name, process.execPath, AGENT];
    // A group of its own: on Ctrl-C the test bed decides when its agents end.
    const child = spawn('ip', argv, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    const agent = new NamespaceAgent(name, child);
    agent.#listen();
    return agent;
  }

  async setSysctls(values: Readonly<Record<string, string | number>>): Promise<void> {
    await this.#send({ op: 'sysctl', values });
  }

  async listen(addresses: readonly string[], ports: readonly number[]): Promise<void> {
    await this.#send({ op: 'listen', addresses, ports });
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
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2000);
    await exit;
    clearTimeout(timer);
  }

  #send(request: AgentRequest): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = ++this.#lastId;
    const waiter = Promise.withResolvers<unknown>();
    this.#pending.set(id, waiter);
    this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    return waiter.promise;
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#child;
    if (stdin === null || stdout === null || stderr === null) throw new Error('agent without pipes');
    stdin.on('error', () => {}); // The exit handler reports what happened.
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    createInterface({ input: stdout, terminal: false }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line) as AgentResponse;
      const waiter = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) waiter?.resolve(result);
      else waiter?.reject(new Error(`agent in ${this.#name}: ${error}`));
    });
    this.#child.on('error', (error) => this.#fail(error));
    this.#child.on('close', (code) =>
      this.#fail(new Error(`agent in ${this.#name} ended (${code})\n${this.#stderr}`)),
    );
  }

  #fail(error: Error): void {
    this.#ended ??= error;
    for (const waiter of this.#pending.values()) waiter.reject(this.#ended);
    this.#pending.clear();
  }
}
