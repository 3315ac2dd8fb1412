import { helpText, usageText } from '../config/flag-help.ts';
import { type ParsedFlags, parseFlags } from '../config/parse-flags.ts';
import type { CommandLineIO } from './command-line-io.ts';
import type { Invocation } from './invocation.ts';
import { resolveInvocation } from './resolve-invocation.ts';
import type { Subcommand } from './subcommand.ts';
import { kubernetesVersion, rawVersion } from './version.ts';

export interface Commands {
  /** Runs the proxy, or its one-shot work; resolves to the exit status, rejects with what ended it. */
  readonly run: (invocation: Invocation) => Promise<number>;
  /** Our own commands by their word. */
  readonly subcommands?: Readonly<Record<string, Subcommand>>;
}

/**
 * Does what a command line asks for and resolves to the exit status (operations 1): 0 for `--help`, `--version`,
 * `--write-config-to` and what `commands.run` makes of it, 1 for every failure. Wrong flags are answered with usage and a
 * plain `Error:` line, later failures with a log line. Never rejects.
 */
export async function runCommandLine(
  argv: readonly string[],
  io: CommandLineIO,
  commands: Commands,
): Promise<number> {
  const word = argv[0] ?? '';
  const subcommands = commands.subcommands ?? {};
  if (Object.hasOwn(subcommands, word)) return subcommands[word]!.run(argv.slice(1), io);

  let flags: ParsedFlags;
  try {
    flags = parseFlags(argv);
  } catch (error) {
    io.stderr(`${usageText(io.program)}\nError: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  const { version, help } = flags.values;
  if (help) {
    io.stdout(helpText(io.program, subcommands));
    return 0;
  }
  if (version === 'true' || version === 'raw') {
    io.stdout(`${version === 'raw' ? rawVersion() : `Kubernetes ${kubernetesVersion}`}\n`);
    return 0;
  }
  return runResolved(flags, io, commands);
}

async function runResolved(flags: ParsedFlags, io: CommandLineIO, commands: Commands): Promise<number> {
  const resolved = resolveInvocation(flags, io);
  if ('exitStatus' in resolved) return resolved.exitStatus;
  const { invocation } = resolved;
  try {
    return await commands.run(invocation);
  } catch (error) {
    invocation.logger.error('command failed', error);
    return 1;
  } finally {
    invocation.configFileWatch?.close();
    invocation.logger.close();
  }
}
