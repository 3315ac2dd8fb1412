import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { Testbed } from '../testbed/testbed.ts';
import type { ProxyStart, ProxyUnderTest } from './proxy-under-test.ts';

const FAIRLEAD = fileURLToPath(new URL('../../../bin/fairlead', import.meta.url));
const LOG_LIMIT = 64 * 1024;
const STOP_TIMEOUT_MILLISECONDS = 10_000;

/** Which implementation of the `iptables` programs the proxy finds first on its PATH. */
export type IptablesBackend = 'nft' | 'legacy';

export interface FairleadOptions {
  /** Without it: the one the system prefers. */
  readonly iptablesBackend?: IptablesBackend;
  /** Another program with kube-proxy's flags, e.g. kube-proxy itself; default `bin/fairlead`. */
  readonly program?: string;
  readonly extraArguments?: readonly string[];
}

/** `bin/fairlead` as a process in the namespace `node1`. */
export class FairleadProcess implements ProxyUnderTest {
  readonly #bed: Testbed;
  readonly #options: FairleadOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), 'fairlead-process-'));
  readonly #path: string;
  #child: ChildProcess | undefined;
  #stopping = false;
  #output = '';
  #crash: string | undefined;

  constructor(bed: Testbed, options: FairleadOptions = {}) {
    this.#bed = bed;
    this.#options = options;
    this.#path = pathWith(this.#directory, options.iptablesBackend);
  }

  async start({ config, objects }: ProxyStart): Promise<void> {
    const file = join(this.#directory, 'config.yaml');
    writeFileSync(file, stringify(config));
    const program = this.#options.program ?? FAIRLEAD;
    const source = 'manifests' in objects ? ['--manifests', objects.manifests] : [];
    const argv = [program, '--config', file, ...source, ...(this.#options.extraArguments ?? [])];
    this.#output = '';
    this.#crash = undefined;
    this.#stopping = false;
    const child = spawn('ip', ['netns', 'exec', this.#bed.fullName('node1'), ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, PATH: this.#path },
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-LOG_LIMIT);
      });
    }
    child.on('close', (code, signal) => {
      if (!this.#stopping) this.#crash = `the proxy ended by itself (${signal ?? `exit code ${code}`})`;
    });
    await once(child, 'spawn');
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    this.#stopping = true;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MILLISECONDS);
    const [, signal] = (await exit) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    if (signal === 'SIGKILL')
      throw new Error(`the proxy ignored SIGTERM for ${STOP_TIMEOUT_MILLISECONDS} ms`);
  }

  crash(): string | undefined {
    return this.#crash;
  }

  log(): string {
    return this.#output;
  }

  /** Stops the process and removes its temporary files. */
  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** A PATH on which `iptables` and its siblings are those of one back-end; the links go into `directory`. */
function pathWith(directory: string, backend: IptablesBackend | undefined): string {
  const path = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin';
  if (backend === undefined) return path;
  for (const command of ['iptables', 'ip6tables']) {
    for (const suffix of ['', '-save', '-restore']) {
      symlinkSync(`/usr/sbin/xtables-${backend}-multi`, join(directory, `${command}${suffix}`));
    }
  }
  return `${directory}:${path}`;
}
