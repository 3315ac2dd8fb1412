import { basename } from 'node:path';
import { runProxy } from './app/run-proxy.ts';
import { systemIO } from './cli/command-line-io.ts';
import { runCommandLine } from './cli/run-command-line.ts';

const program = basename(process.env['FAIRLEAD_PROGRAM'] ?? 'fairlead');
process.exit(await runCommandLine(process.argv.slice(2), systemIO(program), { run: runProxy }));
