import type { CommandLineIO } from './command-line-io.ts';

/** A command of ours, chosen by a word in place of the first flag. kube-proxy has none, so no word is taken. */
export interface Subcommand {
  /** One line for the help. */
  readonly summary: string;
  /** Runs with the arguments behind the word; resolves to the exit status. Must not throw for wrong arguments. */
  run(argv: readonly string[], io: CommandLineIO): Promise<number>;
}
