import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Programs of the tests that the guest starts again and again; `bin/precompile` has Fairlead itself. */
const PROGRAMS = [
  ['../netns/replay/main.ts', '--help'],
  ['../netns/testbed/agent.ts'],
  ['../netns/replay/api-server-child.ts'],
] as const;

/** Compiles test programs into `cache` (see NODE_COMPILE_CACHE), which would take the guest a minute. */
export function compileAhead(cache: string): void {
  for (const [path, ...args] of PROGRAMS) {
    execFileSync(process.execPath, [fileURLToPath(new URL(path, import.meta.url)), ...args], {
      env: { ...process.env, NODE_COMPILE_CACHE: cache },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
}
