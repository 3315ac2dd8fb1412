import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { explain, showPlan } from './app/plan-commands.ts';
import { runProxy } from './app/run-proxy.ts';
import { systemIO } from './cli/command-line-io.ts';
import { runCommandLine } from './cli/run-command-line.ts';

const program = basename(process.env['FAIRLEAD_PROGRAM'] ?? 'fairlead');
nameProcess(program);
const commands = { run: runProxy, subcommands: { 'show-plan': showPlan, explain } };
process.exit(await runCommandLine(process.argv.slice(2), systemIO(program), commands));

/** Lets `pgrep kube-proxy` and the kernel's event logs name this process by its program, not by its run-time. */
function nameProcess(name: string): void {
  try {
    writeFileSync('/proc/self/comm', name);
  } catch {
    // Without /proc it keeps the name of the run-time.
  }
}
