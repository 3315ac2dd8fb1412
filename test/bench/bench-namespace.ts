import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A network namespace of its own for one measurement, with `lo` up. */
export class BenchNamespace implements Disposable {
  readonly name: string;

  constructor(label: string) {
    this.name = `flbench-${process.pid}-${label}`;
    execFileSync('ip', ['netns', 'add', this.name]);
    execFileSync('ip', ['-n', this.name, 'link', 'set', 'lo', 'up']);
  }

  /** Runs a program to its end; resolves to its standard output and how long it took (ms). Rejects when it fails. */
  async run(
    command: string,
    args: readonly string[],
  ): Promise<{ readonly stdout: string; readonly milliseconds: number }> {
    const start = performance.now();
    const child = this.start(command, args);
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
    return { stdout: Buffer.concat(chunks).toString(), milliseconds: performance.now() - start };
  }

  /** Starts a program; its standard error goes to ours unless `quiet`, when it can be read. */
  start(command: string, args: readonly string[], quiet = false): ChildProcess {
    return spawn('ip', ['netns', 'exec', this.name, command, ...args], {
      stdio: ['ignore', 'pipe', quiet ? 'pipe' : 'inherit'],
    });
  }

  [Symbol.dispose](): void {
    execFileSync('ip', ['netns', 'del', this.name]);
  }
}
