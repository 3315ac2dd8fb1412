import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The program as operators install it. */
export const KUBE_PROXY = fileURLToPath(new URL('../../../bin/kube-proxy', import.meta.url));

export interface ProxyExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProxyProcessOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Shell lines that run before the program, in its own mount namespace: mounts are seen by nobody else. */
  readonly prepare?: readonly string[];
  /** Program and first arguments in place of `bin/kube-proxy`. */
  readonly program?: string;
}

/** What each thread of a process waits for, for a look into one that does not end. */
function threadsOf(pid: number): string {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8').trim().replaceAll('\n', ' ');
    } catch (error) {
      return String(error);
    }
  };
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((task) => `/proc/${pid}/task/${task}`)
      .map((path) => ['comm', 'wchan', 'syscall', 'stack'].map((file) => read(`${path}/${file}`)).join(' | '))
      .join('\n');
  } catch (error) {
    return String(error);
  }
}

/** The real program inside a namespace. */
export class ProxyProcess {
  readonly exited: Promise<ProxyExit>;
  readonly #child: ChildProcess;
  #log = '';
  #stdout = '';
  #exit: ProxyExit | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
    this.exited = once(child, 'close').then(([code, signal]) => {
      this.#exit = { code: code as number | null, signal: signal as NodeJS.Signals | null };
      return this.#exit;
    });
  }

  /** `namespace` is the full name. */
  static start(
    namespace: string,
    argv: readonly string[],
    { env = process.env, prepare, program = KUBE_PROXY }: ProxyProcessOptions = {},
  ): ProxyProcess {
    // `ip netns exec` gives the program a mount namespace of its own.
    const command =
      prepare === undefined
        ? [program, ...argv]
        : ['sh', '-ec', `${prepare.join('\n')}\nexec "$@"`, 'sh', program, ...argv];
    const child = spawn('ip', ['netns', 'exec', namespace, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env,
    });
    return new ProxyProcess(child);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Standard error so far: the log. */
  get log(): string {
    return this.#log;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** How it ended; undefined while it runs. */
  get exit(): ProxyExit | undefined {
    return this.#exit;
  }

  /** Lines of the log that match. */
  lines(pattern: RegExp): string[] {
    return this.#log.split('\n').filter((line) => pattern.test(line));
  }

  /** Sends a signal and resolves to how the program ended, and after how many milliseconds. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<ProxyExit & { readonly milliseconds: number }> {
    const begin = performance.now();
    if (this.#exit === undefined) this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 15_000);
    const look = setTimeout(() => {
      this.#log += `still there after 2 s:\n${threadsOf(this.pid)}\n`;
    }, 2000);
    const exit = await this.exited;
    clearTimeout(timer);
    clearTimeout(look);
    return { ...exit, milliseconds: performance.now() - begin };
  }
}
