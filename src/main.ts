import { basename } from 'node:path';
import { explain, showPlan } from './app/plan-commands.ts';
import { runProxy } from './app/run-proxy.ts';
import { systemIO } from './cli/command-line-io.ts';
import { runCommandLine } from './cli/run-command-line.ts';

const program = basename(process.env['FAIRLEAD_PROGRAM'] ?? 'fairlead');
const commands = { run: runProxy, subcommands: { 'show-plan': showPlan, explain } };
process.exit(await runCommandLine(process.argv.slice(2), systemIO(program), commands));
