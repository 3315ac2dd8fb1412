import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs a program with text on its standard input and collects what it prints. Rejects only when it cannot start. */
export function tryCommand(argv: readonly string[], input = ''): Promise<CommandResult> {
  const [program, ...args] = argv;
  if (program === undefined) throw new TypeError('tryCommand needs a program');
  return new Promise((resolve, reject) => {
    // A group of its own: Ctrl-C must not kill the commands that clean up.
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ stdout, stderr, code }));
    child.stdin.on('error', () => {}); // The program may end before it has read everything.
    child.stdin.end(input);
  });
}

/** Like {@link tryCommand}, but rejects with what the program printed when it does not end with 0. Resolves to stdout. */
export async function runCommand(argv: readonly string[], input = ''): Promise<string> {
  const { stdout, stderr, code } = await tryCommand(argv, input);
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}\n${stderr || stdout}`);
  return stdout;
}
