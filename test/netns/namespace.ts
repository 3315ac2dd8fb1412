import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { linuxSyscalls } from '../../src/kernel/native/linux-syscalls.ts';

const CLONE_NEWNET = 0x4000_0000;
const DIRECTORY = '/run/netns';

/**
 * A network namespace for a test, with loopback up. Needs root and iproute2.
 *
 * A socket belongs for good to the namespace that its thread was in when it was opened. So a test opens what it needs
 * with {@link inside} and then uses it from the test itself, next to Vitest:
 *
 * ```ts
 * using node = Namespace.create('fla-node');
 * const connection = node.inside(() => NetlinkConnection.open(NETLINK_NETFILTER));
 * ```
 *
 * Node's own sockets are opened later than they look (after a lookup, on another turn), so traffic comes from child
 * processes: {@link run} waits for a program, {@link spawn} does not.
 */
export class Namespace {
  readonly name: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(name: string) {
    this.name = name;
  }

  /** Creates a namespace whose name starts with `prefix`; those that runs which were killed left behind are removed. */
  static create(prefix: string): Namespace {
    for (const name of existsSync(DIRECTORY) ? readdirSync(DIRECTORY) : []) {
      const owner = name.startsWith(`${prefix}-`) ? name.slice(prefix.length + 1) : '';
      if (/^[0-9]+$/.test(owner) && !existsSync(`/proc/${owner}`))
        execFileSync('ip', ['netns', 'delete', name]);
    }
    const name = `${prefix}-${process.pid}`;
    execFileSync('ip', ['netns', 'add', name]);
    const namespace = new Namespace(name);
    namespace.run('ip', 'link', 'set', 'lo', 'up');
    return namespace;
  }

  /** Runs a program inside and returns what it printed. Throws when it fails, with its error output. */
  run(program: string, ...args: string[]): string {
    return execFileSync('ip', ['netns', 'exec', this.name, program, ...args], {
      encoding: 'utf8',
      maxBuffer: 256 << 20,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Starts a program inside; it is killed when the namespace is deleted. */
  spawn(program: string, ...args: string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.name, program, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /**
   * Runs `work` with the calling thread in the namespace and comes back before it returns. Synchronous work only.
   * Programs started within it (execFileSync) are in the namespace too.
   */
  inside<Result>(work: () => Result): Result {
    const { setns } = linuxSyscalls();
    const home = openSync('/proc/thread-self/ns/net', 'r');
    const target = openSync(`${DIRECTORY}/${this.name}`, 'r');
    try {
      if (setns(target, CLONE_NEWNET) < 0) throw new Error(`cannot enter network namespace ${this.name}`);
      const result = work();
      if (result instanceof Promise) throw new Error('Namespace.inside takes synchronous work only');
      return result;
    } finally {
      const left = setns(home, CLONE_NEWNET);
      closeSync(home);
      closeSync(target);
      // Everything that follows would run in the wrong namespace, the host's firewall included.
      if (left < 0) process.abort();
    }
  }

  delete(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    this.#children.clear();
    execFileSync('ip', ['netns', 'delete', this.name]);
  }

  [Symbol.dispose](): void {
    this.delete();
  }
}
