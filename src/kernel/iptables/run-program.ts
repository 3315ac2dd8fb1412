import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { describeError } from '../../base/fairlead-error.ts';
import { IptablesError } from './iptables-error.ts';

export interface RunOptions {
  /** Text for standard input, in pieces of any size; read only as fast as the program takes it. */
  readonly input?: Iterable<string>;
  /** Called for each line of standard output as it comes; returning `false` ends the program early. */
  readonly onLine?: (line: string) => boolean;
  /** Milliseconds until the program is killed. */
  readonly timeout: number;
}

export interface RunResult {
  readonly exitStatus: number;
  /** Standard output, empty where `onLine` took it. */
  readonly stdout: string;
  /** Both outputs are kept up to 64 KiB and 1 MiB. */
  readonly stderr: string;
}

/** Starts a program and waits for its end. Throws {@link IptablesError} where it does not start or is killed. */
export type RunProgram = (
  program: string,
  args: readonly string[],
  options: RunOptions,
) => Promise<RunResult>;

/**
 * Runs programs as child processes. `prefix` is put before each command, e.g. `['ip', 'netns', 'exec', 'n1']`.
 * The environment is the process's own with `LC_ALL=C`, since messages are read, and `environment` on top.
 */
export function processRunner(
  prefix: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): RunProgram {
  const env = { ...process.env, LC_ALL: 'C', ...environment };
  return (program, args, options) => {
    const [command, ...rest] = [...prefix, program, ...args];
    try {
      const child = spawn(command!, rest, { env, stdio: ['pipe', 'pipe', 'pipe'] });
      return supervise(program, child, options);
    } catch (error) {
      return Promise.reject(notStarted(program, error));
    }
  };
}

const maxError = 64 * 1024;
const maxOutput = 1024 * 1024;
const chunkSize = 64 * 1024;
/**
 * A program that has ended is not waited for any longer than this, in milliseconds, whoever still holds its outputs open
 * (modprobe, for one, which iptables starts), nor is one that outlives SIGKILL because the kernel does not let it go.
 */
const lingering = 5000;

function supervise(program: string, child: ChildProcess, options: RunOptions): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    let endedByUs = false;
    const timers = [setTimeout(kill, options.timeout)];
    const stopTimers = () => timers.forEach(clearTimeout);
    child.on('error', (error) => {
      stopTimers();
      reject(notStarted(program, error));
    });
    // Without file descriptors left there are no pipes, and the error comes later.
    if (!child.stdin || !child.stdout || !child.stderr) return;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < maxError) stderr += text;
    });
    const lines = options.onLine === undefined ? undefined : lineSplitter(options.onLine);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (lines === undefined) {
        if (stdout.length < maxOutput) stdout += text;
      } else if (!endedByUs && !lines(text)) {
        endedByUs = true;
        child.stdout?.destroy();
        child.kill('SIGTERM');
      }
    });
    // After a long pause of this process timers come before what can be read, and immediates after that.
    child.on('exit', () => timers.push(setTimeout(() => setImmediate(letGo), lingering)));
    child.on('close', (code, signal) => {
      stopTimers();
      if (endedByUs) resolve({ exitStatus: 0, stdout, stderr });
      else if (code === null) reject(killed(program, signal ?? 'unknown'));
      else resolve({ exitStatus: code, stdout, stderr });
    });
    feed(child.stdin, options.input ?? []).catch((error: unknown) => {
      child.kill('SIGKILL');
      reject(error);
    });

    function kill(): void {
      child.kill('SIGKILL');
      const giveUp = () => {
        letGo();
        reject(killed(program, 'SIGKILL'));
      };
      timers.push(setTimeout(giveUp, lingering));
    }
    function letGo(): void {
      for (const stream of child.stdio) stream?.destroy();
    }
  });
}

function notStarted(program: string, error: unknown): IptablesError {
  const reason = describeError(error);
  return new IptablesError(
    { code: 'IPTABLES_NOT_STARTED', program, reason },
    `cannot run ${program}: ${reason}`,
  );
}

function killed(program: string, signal: string): IptablesError {
  return new IptablesError(
    { code: 'IPTABLES_KILLED', program, signal },
    `${program} was ended by signal ${signal}`,
  );
}

/** Writes the input with back-pressure. A program that stops reading has failed; its exit status tells. */
async function feed(stdin: Writable, input: Iterable<string>): Promise<void> {
  let broken = false;
  let wake: (() => void) | undefined;
  const stop = () => {
    broken = true;
    wake?.();
  };
  stdin.on('error', stop).on('close', stop);
  stdin.on('drain', () => wake?.());
  let chunk: string[] = [];
  let size = 0;
  const flush = (): Promise<void> | undefined => {
    const more = stdin.write(chunk.join(''));
    chunk = [];
    size = 0;
    if (more || broken) return undefined;
    return new Promise<void>((resolve) => {
      wake = resolve;
    });
  };
  for (const text of input) {
    if (broken) return;
    chunk.push(text);
    size += text.length;
    if (size >= chunkSize) await flush();
  }
  if (broken) return;
  if (size > 0) await flush();
  stdin.end();
}

/** Cuts a stream of text into lines; the returned function says whether to go on. */
function lineSplitter(onLine: (line: string) => boolean): (text: string) => boolean {
  let rest = '';
  return (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    return parts.every((line) => onLine(line));
  };
}
