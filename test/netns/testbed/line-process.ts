import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { patient } from '../patience.ts';

const STOP_TIMEOUT_MILLISECONDS = patient(2000);

/** What a {@link LineProcess} gets back for a request, one JSON object a line. */
export interface LineResponse {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/**
 * A Node program inside a namespace that is asked by JSON lines on its standard input and answers on its standard
 * output, see `serveLines`. It ends when its input does, so it cannot outlive the test.
 */
export class LineProcess {
  readonly #title: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #stderr = '';
  #ended: Error | undefined;

  private constructor(title: string, child: ChildProcess) {
    this.#title = title;
    this.#child = child;
  }

  /** Starts the program at `script` in an existing namespace. `namespace` is the full name. */
  static start(namespace: string, script: URL): LineProcess {
    const path = fileURLToPath(script);
    // A group of its own: on Ctrl-C the test bed decides when its processes end.
    const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, path], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const started = new LineProcess(`${path} in ${namespace}`, child);
    started.#listen();
    return started;
  }

  /** Resolves to the result. Rejects with the error the program answers, or when it has ended. */
  request(request: object): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = ++this.#lastId;
    const waiter = Promise.withResolvers<unknown>();
    this.#pending.set(id, waiter);
    this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    return waiter.promise;
  }

  /** Ends the program and waits for it. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MILLISECONDS);
    await exit;
    clearTimeout(timer);
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#child;
    if (stdin === null || stdout === null || stderr === null) throw new Error('line process without pipes');
    stdin.on('error', () => {}); // The exit handler reports what happened.
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    createInterface({ input: stdout, terminal: false }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line) as LineResponse;
      const waiter = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) waiter?.resolve(result);
      else waiter?.reject(new Error(`${this.#title}: ${error}`));
    });
    this.#child.on('error', (error) => this.#fail(error));
    this.#child.on('close', (code) =>
      this.#fail(new Error(`${this.#title} ended with ${code}\n${this.#stderr}`)),
    );
  }

  #fail(error: Error): void {
    this.#ended ??= error;
    for (const waiter of this.#pending.values()) waiter.reject(this.#ended);
    this.#pending.clear();
  }
}
