// Runs a command of this repository on another kernel: node test/guest-kernel/main.ts --help
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { closeOnSignal } from '../netns/testbed/close-on-signal.ts';
import { compileAhead } from './compile-ahead.ts';
import { debianKernel, RELEASES, type Release } from './debian-kernel.ts';
import { Guest } from './guest.ts';

const CACHE = resolve(import.meta.dirname, '../../.cache/guest-kernel');
/** Where bin/fairlead keeps compiled code; the guest reads it and keeps what it adds to itself. */
const NODE_CACHE = resolve(import.meta.dirname, '../../.cache/node');
const SHOWN_LOG_LINES = 15;

const USAGE = `Boots the kernel of a Debian release under emulation and runs a command of this repository in it, as root.
The exit status is the command's; 124 after the time limit, 125 when the machine fails. Needs root.

  node test/guest-kernel/main.ts [OPTIONS] [--] COMMAND [ARGUMENTS]

  --kernel RELEASE    ${Object.entries(RELEASES)
    .map(([name, what]) => `${name} (${what})`)
    .join(', ')}; default bookworm
  --time-limit S      seconds until the machine is ended (default 600)
  --patience N        factor for the waits of tests (default 5), see test/netns/patience.ts
  --memory MIB        (default 3072)
  --processors N      (default 2)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kernel: { type: 'string', default: 'bookworm' },
    'time-limit': { type: 'string', default: '600' },
    patience: { type: 'string', default: '5' },
    memory: { type: 'string', default: '3072' },
    processors: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help || positionals.length === 0) console.log(USAGE);
else process.exitCode = await run();

async function run(): Promise<number> {
  const kernel = await debianKernel(parseRelease(values.kernel), CACHE);
  compileAhead(NODE_CACHE);
  const guest = Guest.start({
    kernel,
    argv: positionals,
    environment: { FAIRLEAD_TEST_PATIENCE: `${values.patience}`, NODE_COMPILE_CACHE: NODE_CACHE },
    timeLimitSeconds: Number(values['time-limit']),
    memoryMebibytes: Number(values.memory),
    processors: Number(values.processors),
    folder: join(CACHE, 'runs'),
  });
  const ended = guest.ended();
  let interrupted = false;
  closeOnSignal(async () => {
    interrupted = true;
    guest.kill();
    await ended;
    return undefined;
  });
  const result = await ended;
  if (result.end === 'exited') return result.status;
  if (interrupted) return 0; // The signal decides the exit status.
  const log = result.log.split('\n').slice(-SHOWN_LOG_LINES).join('\n');
  const what =
    result.end === 'died' ? 'ended before the command' : `was ended after ${values['time-limit']} s`;
  console.error(`The machine ${what}. The last of its console:\n${log}`);
  return result.end === 'timeout' ? 124 : 125;
}

function parseRelease(name: string): Release {
  if (Object.hasOwn(RELEASES, name)) return name as Release;
  throw new Error(`--kernel ${name}: not one of ${Object.keys(RELEASES).join(', ')}`);
}
