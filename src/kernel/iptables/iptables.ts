import type { IpFamily } from '../../base/ip.ts';
import { IptablesError, iptablesFailure, isAbsent, isLockHeld } from './iptables-error.ts';
import {
  type IptablesBackend,
  type IptablesFeatures,
  type IptablesPrograms,
  iptablesFeatures,
  iptablesPrograms,
  parseIptablesVersion,
} from './iptables-version.ts';
import { processRunner, type RunProgram } from './run-program.ts';
import { isBuiltInChain, readChainName } from './save-text.ts';

export type IptablesTable = 'filter' | 'nat' | 'mangle';

/**
 * The packet filter of one family, through the iptables programs of one back-end. Calls run one after the other; on the
 * legacy back-end, which has one lock for all, those of both families do.
 * All methods throw {@link IptablesError}.
 */
export interface Iptables {
  readonly family: IpFamily;
  readonly backend: IptablesBackend;
  readonly features: IptablesFeatures;
  /**
   * Feeds `iptables-restore --noflush --counters`: what the input does not name stays. Each `*table … COMMIT` block is
   * one transaction; blocks before a refused one stay applied. The input is read while the program runs.
   */
  restore(input: Iterable<string>, table?: IptablesTable): Promise<void>;
  /** Names of all chains of a table, built-in ones included. The table is created where it does not exist. */
  listChains(table: IptablesTable): Promise<readonly string[]>;
  /** All tables there are, without making the kernel load or create any. */
  survey(): Promise<TableSurvey>;
  hasChain(table: IptablesTable, chain: string): Promise<boolean>;
  /** Returns whether the chain is new. */
  createChain(table: IptablesTable, chain: string): Promise<boolean>;
  /** Removes an empty chain that nothing refers to; harmless where there is none. */
  destroyChain(table: IptablesTable, chain: string): Promise<void>;
  hasRule(table: IptablesTable, chain: string, args: readonly string[]): Promise<boolean>;
  /** Whether the kernel has NAT for this family. Rejects only while another process holds the xtables lock. */
  isUsable(): Promise<boolean>;
}

/** What the tables of one family and back-end hold. */
export interface TableSurvey {
  /** Chains by table; built-in ones included. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Rules of the built-in chains by table, as iptables-save prints them: `INPUT -j KUBE-FIREWALL`. */
  readonly builtInRules: ReadonlyMap<string, readonly string[]>;
  /** Number of rules in all tables. */
  readonly rules: number;
}

export interface OpenIptablesOptions {
  readonly family: IpFamily;
  /** `undefined`: whatever `iptables` is on this host. */
  readonly backend?: IptablesBackend | undefined;
  readonly run?: RunProgram;
  /** Milliseconds after which a program is killed. A restore of very many rules can take minutes. */
  readonly timeout?: number;
}

/**
 * Asks the program for its version. A version text that cannot be read gives an {@link Iptables} without features
 * (spec B.2.4). Throws where the program cannot be run.
 */
export async function openIptables(options: OpenIptablesOptions): Promise<Iptables> {
  const run = options.run ?? processRunner();
  const timeout = options.timeout ?? 10 * 60_000;
  const programs = iptablesPrograms(options.family, options.backend);
  const result = await run(programs.iptables, ['--version'], { timeout });
  if (result.exitStatus !== 0) throw iptablesFailure(programs.iptables, result.exitStatus, result.stderr);
  const version = parseIptablesVersion(result.stdout);
  return new ProgramIptables({
    family: options.family,
    backend: options.backend ?? version?.backend ?? 'legacy',
    features: iptablesFeatures(version),
    programs,
    run,
    timeout,
  });
}

interface Parts {
  readonly family: IpFamily;
  readonly backend: IptablesBackend;
  readonly features: IptablesFeatures;
  readonly programs: IptablesPrograms;
  readonly run: RunProgram;
  readonly timeout: number;
}

class ProgramIptables implements Iptables {
  readonly family: IpFamily;
  readonly backend: IptablesBackend;
  readonly features: IptablesFeatures;
  readonly #parts: Parts;
  readonly #turns: Turns;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.family = parts.family;
    this.backend = parts.backend;
    this.features = parts.features;
    this.#turns = parts.backend === 'legacy' ? legacyTurns : new Turns();
  }

  restore(input: Iterable<string>, table?: IptablesTable): Promise<void> {
    const only = table === undefined ? [] : ['-T', table];
    const args = [...this.features.restoreWait, ...only, '--noflush', '--counters'];
    return this.#exclusive(async () => {
      await this.#run(this.#parts.programs.restore, args, { input });
    });
  }

  listChains(table: IptablesTable): Promise<readonly string[]> {
    return this.#exclusive(async () => {
      const chains: string[] = [];
      // Chains are listed before rules; of what may be hundreds of thousands of rules none is wanted.
      const onLine = (line: string) => {
        const chain = readChainName(line);
        if (chain !== undefined) chains.push(chain);
        return !line.startsWith('-A');
      };
      await this.#run(this.#parts.programs.save, ['-t', table], { onLine });
      return chains;
    });
  }

  survey(): Promise<TableSurvey> {
    return this.#exclusive(async () => {
      const chains = new Map<string, string[]>();
      const builtInRules = new Map<string, string[]>();
      let table: string[] = [];
      let ofBuiltIn: string[] = [];
      const builtIn = new Set<string>();
      let rules = 0;
      const onLine = (line: string) => {
        const chain = readChainName(line);
        if (chain !== undefined) {
          table.push(chain);
          if (isBuiltInChain(line)) builtIn.add(chain);
        } else if (line.startsWith('*')) {
          const name = line.slice(1);
          table = [];
          ofBuiltIn = [];
          builtIn.clear();
          chains.set(name, table);
          builtInRules.set(name, ofBuiltIn);
        } else if (line.startsWith('-A ')) {
          rules++;
          const rule = line.slice('-A '.length);
          if (builtIn.has(rule.slice(0, rule.indexOf(' ')))) ofBuiltIn.push(rule);
        }
        return true;
      };
      await this.#run(this.#parts.programs.save, [], { onLine });
      return { chains, builtInRules, rules };
    });
  }

  hasChain(table: IptablesTable, chain: string): Promise<boolean> {
    return this.#exclusive(() => this.#succeeds('-S', chain, '-t', table));
  }

  createChain(table: IptablesTable, chain: string): Promise<boolean> {
    return this.#exclusive(() => this.#succeeds('-N', chain, '-t', table));
  }

  destroyChain(table: IptablesTable, chain: string): Promise<void> {
    return this.#exclusive(() => this.#ifPresent('-X', chain, '-t', table)).then(() => undefined);
  }

  hasRule(table: IptablesTable, chain: string, args: readonly string[]): Promise<boolean> {
    return this.#exclusive(() => this.#hasRule(table, chain, args));
  }

  isUsable(): Promise<boolean> {
    return this.hasChain('nat', 'POSTROUTING').catch((error: unknown) => {
      if (isLockHeld(error)) throw error;
      return false;
    });
  }

  async #hasRule(table: IptablesTable, chain: string, args: readonly string[]): Promise<boolean> {
    try {
      return await this.#succeeds('-C', chain, '-t', table, ...args);
    } catch (error) {
      // A jump to a chain that does not exist is refused with another status than an absent rule.
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  /** True for status 0, false for status 1, by which the program says no. */
  async #succeeds(...args: readonly string[]): Promise<boolean> {
    try {
      await this.#run(this.#parts.programs.iptables, [...this.features.wait, ...args], {});
      return true;
    } catch (error) {
      if (error instanceof IptablesError && error.detail.code === 'IPTABLES_REFUSED') {
        if (error.detail.exitStatus === 1) return false;
      }
      throw error;
    }
  }

  async #ifPresent(...args: readonly string[]): Promise<boolean> {
    try {
      await this.#run(this.#parts.programs.iptables, [...this.features.wait, ...args], {});
      return true;
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  async #run(
    program: string,
    args: readonly string[],
    options: { input?: Iterable<string>; onLine?: (line: string) => boolean },
  ): Promise<void> {
    const result = await this.#parts.run(program, args, { ...options, timeout: this.#parts.timeout });
    if (result.exitStatus !== 0) {
      throw iptablesFailure(program, result.exitStatus, result.stderr + result.stdout);
    }
  }

  #exclusive<T>(action: () => Promise<T>): Promise<T> {
    return this.#turns.next(action);
  }
}

/** Runs actions one after the other. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  next<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action, action);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** Whoever writes a large table keeps the lock for longer than our other family would wait for it. */
const legacyTurns = new Turns();
