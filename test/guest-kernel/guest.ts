import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DebianKernel } from './debian-kernel.ts';
import { initramfs } from './initramfs.ts';
import { createRunFolder } from './run-folder.ts';
import { shellWords } from './shell-words.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
/** Not copied into the guest: large, and not for programs or tests that run there. See first-init.sh. */
const NOT_COPIED = [
  '.git',
  '.cache/guest-kernel',
  ...['@biomejs', '@typescript', 'node', 'typescript'].map((name) => `node_modules/${name}`),
];

export interface GuestCommand {
  readonly kernel: DebianKernel;
  /** A program and its arguments, run as root in the root of the repository. */
  readonly argv: readonly string[];
  /** Added to the little that the guest sets by itself; nothing comes from the host's environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeLimitSeconds: number;
  readonly memoryMebibytes: number;
  readonly processors: number;
  /** Where the folder of the run goes. It must be below the root of the host's file system that the guest sees. */
  readonly folder: string;
}

/** `died`: the machine ended before the command did, `log` is what its kernel printed. */
export type GuestEnd =
  | { readonly end: 'exited'; readonly status: number }
  | { readonly end: 'timeout'; readonly log: string }
  | { readonly end: 'died'; readonly log: string };

/**
 * A virtual machine with a kernel of its own that sees the host's files and keeps its changes to itself: they are gone
 * with it. It has no network beside what the command makes.
 */
export class Guest {
  readonly #folder: string;
  readonly #machine: ChildProcess;
  readonly #timeLimitSeconds: number;

  private constructor(folder: string, machine: ChildProcess, timeLimitSeconds: number) {
    this.#folder = folder;
    this.#machine = machine;
    this.#timeLimitSeconds = timeLimitSeconds;
  }

  /** Starts a machine whose command prints to the standard output of this process. */
  static start(command: GuestCommand): Guest {
    const folder = createRunFolder(command.folder);
    writeFileSync(join(folder, 'initramfs'), initramfs(command.kernel));
    writeFileSync(join(folder, 'command.sh'), commandScript(command));
    copyRepository(join(folder, 'repository.tar'));
    const argv = qemuCommand(command, folder);
    // The kernel ends the machine should this process be killed. With its input at an end it would take no output.
    const machine = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], {
      stdio: ['pipe', 'inherit', 'inherit'],
      detached: true,
    });
    return new Guest(folder, machine, command.timeLimitSeconds);
  }

  /** Waits for the end of the command and the machine, and removes what the run left. */
  async ended(): Promise<GuestEnd> {
    let expired = false;
    const timer = setTimeout(() => {
      expired = true;
      this.#machine.kill('SIGKILL');
    }, this.#timeLimitSeconds * 1000);
    try {
      await once(this.#machine, 'exit');
      const status = this.#read('status').trim();
      if (status !== '') return { end: 'exited', status: Number(status) };
      return { end: expired ? 'timeout' : 'died', log: this.#read('console') };
    } finally {
      clearTimeout(timer);
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  /** Ends the machine at once; `ended` resolves. */
  kill(): void {
    this.#machine.kill('SIGKILL');
  }

  #read(name: string): string {
    try {
      return readFileSync(join(this.#folder, name), 'utf8');
    } catch {
      return ''; // The machine did not come so far.
    }
  }
}

function copyRepository(archive: string): void {
  const except = NOT_COPIED.map((path) => `--exclude=./${path}`);
  const argv = ['-c', '-f', archive, '-C', REPOSITORY, '--anchored', ...except, '.'];
  const { status } = spawnSync('tar', argv, { stdio: ['ignore', 'ignore', 'inherit'] });
  // 1: somebody changed a file meanwhile.
  if (status !== 0 && status !== 1) throw new Error(`tar ended with ${status}`);
}

function commandScript({ argv, environment }: GuestCommand): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return `exec env ${shellWords([...variables, ...argv])}\n`;
}

function qemuCommand({ kernel, memoryMebibytes, processors }: GuestCommand, folder: string): string[] {
  // The kernel hands what it does not know itself to the first program, as environment.
  const kernelArguments = {
    console: 'ttyS0',
    panic: '-1',
    mitigations: 'off',
    FAIRLEAD_REPOSITORY: REPOSITORY,
    FAIRLEAD_MODULES: kernel.modules,
    FAIRLEAD_RUN: folder,
  };
  const line = Object.entries(kernelArguments).map(([name, value]) => `${name}=${value}`);
  return [
    'qemu-system-x86_64',
    ...[
      '-accel',
      'tcg,thread=multi',
      '-cpu',
      'max,la57=off',
      '-smp',
      `${processors}`,
      '-m',
      `${memoryMebibytes}`,
    ],
    ...['-display', 'none', '-monitor', 'none', '-no-reboot', '-nodefaults', '-nic', 'none'],
    ...['-kernel', kernel.image, '-initrd', join(folder, 'initramfs'), '-append', `quiet ${line.join(' ')}`],
    ...['-virtfs', 'local,path=/,mount_tag=host,security_model=none,multidevs=remap,readonly=on'],
    ...['-serial', `file:${join(folder, 'console')}`],
    ...['-device', 'virtio-serial', '-chardev', 'stdio,id=output,signal=off'],
    ...['-chardev', `file,id=status,path=${join(folder, 'status')}`],
    ...['output', 'status'].flatMap((name) => ['-device', `virtserialport,chardev=${name},name=${name}`]),
  ];
}
