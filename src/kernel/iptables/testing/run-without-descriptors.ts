/** Run as a program: uses up all file descriptors, tries to run another program, and prints the codes of the errors. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { IptablesError } from '../iptables-error.ts';
import { processRunner } from '../run-program.ts';

const run = processRunner();
const report = (line: string) => writeSync(1, `${line}\n`);
// What the runner's first call needs besides the program is loaded while there is room.
await run('true', [], { timeout: 10_000 });
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // All are taken.
}
for (let free = 0; free < 3; free++) {
  try {
    await run('true', [], { timeout: 10_000 });
    report('ran');
  } catch (error) {
    report(error instanceof IptablesError ? error.detail.code : String(error));
  }
  closeSync(taken.pop()!);
}
