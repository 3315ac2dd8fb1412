import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { patient } from '../patience.ts';

const LOG_LIMIT = 64 * 1024;
const STOP_TIMEOUT_MILLISECONDS = patient(10_000);

/** A program that runs inside a namespace and may be started again after it was stopped. */
export class NamespaceProcess {
  readonly #namespace: string;
  #child: ChildProcess | undefined;
  #stopping = false;
  #output = '';
  #crash: string | undefined;

  /** `namespace` is the full name. */
  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** Resolves as soon as the process exists. Throws when the one before still runs. */
  async start(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<void> {
    if (this.#running()) throw new Error('the process runs already');
    this.#output = '';
    this.#crash = undefined;
    this.#stopping = false;
    // A group of its own: on Ctrl-C whoever started it decides when it ends.
    const child = spawn('ip', ['netns', 'exec', this.#namespace, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env,
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-LOG_LIMIT);
      });
    }
    child.on('exit', (code, signal) => {
      if (!this.#stopping) this.#crash = `ended by itself (${signal ?? `exit code ${code}`})`;
    });
    await once(child, 'spawn');
  }

  /** Sends SIGTERM and waits. Rejects when only SIGKILL helped. Harmless when nothing runs. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.#running()) return;
    this.#stopping = true;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MILLISECONDS);
    const [, signal] = (await exit) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    if (signal === 'SIGKILL') throw new Error(`SIGTERM was ignored for ${STOP_TIMEOUT_MILLISECONDS} ms`);
  }

  /** How it ended without being told to; undefined while it runs and after `stop`. */
  crash(): string | undefined {
    return this.#crash;
  }

  /** The last 64 KiB of what it printed since `start`. */
  log(): string {
    return this.#output;
  }

  #running(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }
}
