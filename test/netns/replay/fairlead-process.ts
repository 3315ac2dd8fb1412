import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { NamespaceProcess } from '../testbed/namespace-process.ts';
import type { ProxyStart, ProxyUnderTest } from './proxy-under-test.ts';

const FAIRLEAD = fileURLToPath(new URL('../../../bin/fairlead', import.meta.url));

/** Which implementation of the `iptables` programs the proxy finds first on its PATH. */
export type IptablesBackend = 'nft' | 'legacy';

export interface FairleadOptions {
  /** Without it: the one the system prefers. */
  readonly iptablesBackend?: IptablesBackend;
  /** Another program with kube-proxy's flags, e.g. kube-proxy itself; default `bin/fairlead`. */
  readonly program?: string;
}

/** `bin/fairlead` as a process in the namespace of a node. */
export class FairleadProcess implements ProxyUnderTest {
  readonly #process: NamespaceProcess;
  readonly #program: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'fairlead-process-'));
  readonly #path: string;

  /** `namespace` is the full name. Makes a temporary directory, which `close` removes. */
  constructor(namespace: string, { iptablesBackend, program = FAIRLEAD }: FairleadOptions = {}) {
    this.#process = new NamespaceProcess(namespace);
    this.#program = program;
    this.#path = pathWithIptables(this.#directory, iptablesBackend);
  }

  async start({ config, objects }: ProxyStart): Promise<void> {
    const file = join(this.#directory, 'config.yaml');
    writeFileSync(file, stringify(config));
    const source = 'manifests' in objects ? ['--manifests', objects.manifests] : [];
    const argv = [this.#program, '--config', file, ...source];
    // The lock of xtables-legacy is one for the host; test beds must not wait for each other.
    const XTABLES_LOCKFILE = join(this.#directory, 'xtables.lock');
    await this.#process.start(argv, { ...process.env, PATH: this.#path, XTABLES_LOCKFILE });
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  crash(): string | undefined {
    const crash = this.#process.crash();
    return crash === undefined ? undefined : `the proxy ${crash}\n${this.log().slice(-2000)}`;
  }

  log(): string {
    return this.#process.log();
  }

  /** Stops the process and removes its temporary files. */
  async close(): Promise<void> {
    await this.stop().finally(() => rmSync(this.#directory, { recursive: true, force: true }));
  }
}

/** A PATH on which `iptables` and its siblings are those of one back-end; the links go into `directory`. */
export function pathWithIptables(directory: string, backend: IptablesBackend | undefined): string {
  const path = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin';
  if (backend === undefined) return path;
  const program = `xtables-${backend}-multi`;
  const home = path.split(':').find((entry) => existsSync(join(entry, program)));
  if (home === undefined) throw new Error(`${program} is not on the PATH: install iptables`);
  for (const command of ['iptables', 'ip6tables']) {
    for (const suffix of ['', '-save', '-restore']) {
      const link = join(directory, `${command}${suffix}`);
      if (!existsSync(link)) symlinkSync(join(home, program), link);
    }
  }
  return `${directory}:${path}`;
}
