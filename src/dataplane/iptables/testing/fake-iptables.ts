import type { IpFamily } from '../../../base/ip.ts';
import type { Iptables, IptablesTable, TableSurvey } from '../../../kernel/iptables/iptables.ts';
import { type IptablesError, iptablesFailure } from '../../../kernel/iptables/iptables-error.ts';
import type { IptablesBackend } from '../../../kernel/iptables/iptables-version.ts';

type Chains = Map<string, readonly string[]>;

const builtin: Readonly<Record<IptablesTable, readonly string[]>> = {
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
};

const targets = new Set(['ACCEPT', 'DROP', 'RETURN', 'REJECT', 'MARK', 'MASQUERADE', 'DNAT']);

/** A refusal that a test asks for: when a rule is read, or only by the kernel when the table is committed. */
export type Refuse = (rule: { table: string; chain: string; text: string }) => 'no' | 'reading' | 'kernel';

/**
 * Tables in memory with the semantics that iptables has with `--noflush`: a chain line creates or flushes, a rule
 * needs its chain and its target, a chain that is led to or not empty cannot be deleted, a block counts as a whole.
 */
export class FakeIptables implements Iptables {
  readonly family: IpFamily;
  readonly backend: IptablesBackend;
  readonly features = { randomFully: true, wait: [], restoreWait: [] };
  /** Inputs of all restores so far, checks of jumps left out. */
  readonly inputs: string[] = [];
  refuse: Refuse = () => 'no';
  /** Errors that the next restores fail with. */
  readonly failures: IptablesError[] = [];
  readonly #tables: Record<IptablesTable, Chains>;

  constructor(family: IpFamily = 'IPv4', backend: IptablesBackend = 'nft') {
    this.family = family;
    this.backend = backend;
    const fresh = (table: IptablesTable): Chains => new Map(builtin[table].map((chain) => [chain, []]));
    this.#tables = { filter: fresh('filter'), nat: fresh('nat'), mangle: fresh('mangle') };
  }

  async restore(input: Iterable<string>, only?: IptablesTable): Promise<void> {
    const text = [...input].join('');
    if (!/^-C /m.test(text)) this.inputs.push(text);
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    let table: IptablesTable | undefined;
    let chains: Chains = new Map();
    let refusedByKernel = false;
    for (const [index, line] of text.split('\n').entries()) {
      if (line === '') continue;
      const number = index + 1;
      if (line.startsWith('*')) {
        table = line.slice(1) as IptablesTable;
        if (only !== undefined && table !== only) throw refusal(number, `table ${table} was not asked for`);
        chains = new Map(this.#tables[table]);
        refusedByKernel = false;
      } else if (table === undefined) throw refusal(number, 'no table');
      else if (line === 'COMMIT') {
        // The kernel of the legacy back-end says no more than that.
        if (refusedByKernel) throw iptablesFailure('restore', 1, `iptables-restore: line ${number} failed`);
        checkTargets(chains, number);
        this.#tables[table] = chains;
        table = undefined;
      } else refusedByKernel = this.#apply(table, chains, line, number) || refusedByKernel;
    }
    if (table !== undefined) throw refusal(0, 'COMMIT expected');
  }

  async listChains(table: IptablesTable): Promise<readonly string[]> {
    return [...this.#tables[table].keys()];
  }

  async survey(): Promise<TableSurvey> {
    const chains = new Map<string, readonly string[]>();
    const builtInRules = new Map<string, readonly string[]>();
    let rules = 0;
    for (const [name, table] of Object.entries(this.#tables) as [IptablesTable, Chains][]) {
      chains.set(name, [...table.keys()]);
      const ofBuiltIn = builtin[name].flatMap((chain) => table.get(chain)!.map((rule) => `${chain} ${rule}`));
      builtInRules.set(name, ofBuiltIn);
      for (const list of table.values()) rules += list.length;
    }
    return { chains, builtInRules, rules };
  }

  async hasChain(table: IptablesTable, chain: string): Promise<boolean> {
    return this.#tables[table].has(chain);
  }

  async createChain(table: IptablesTable, chain: string): Promise<boolean> {
    if (this.#tables[table].has(chain)) return false;
    this.#tables[table].set(chain, []);
    return true;
  }

  async destroyChain(table: IptablesTable, chain: string): Promise<void> {
    this.#tables[table].delete(chain);
  }

  async hasRule(table: IptablesTable, chain: string, args: readonly string[]): Promise<boolean> {
    return this.#tables[table].get(chain)?.includes(asText(args)) ?? false;
  }

  async isUsable(): Promise<boolean> {
    return true;
  }

  /** The rules of a chain, or `undefined` where it does not exist. */
  rules(table: IptablesTable, chain: string): readonly string[] | undefined {
    return this.#tables[table].get(chain);
  }

  /** Sets a chain directly, as some other program would. */
  write(table: IptablesTable, chain: string, rules: readonly string[]): void {
    this.#tables[table].set(chain, rules);
  }

  /** Removes all chains that are not built in, and all rules. */
  flush(table: IptablesTable): void {
    this.#tables[table] = new Map(builtin[table].map((chain) => [chain, []]));
  }

  /** All chains and rules, chains by name. */
  dump(): string {
    let text = '';
    for (const [table, chains] of Object.entries(this.#tables)) {
      text += `*${table}\n`;
      for (const [chain, rules] of [...chains].sort(([a], [b]) => (a < b ? -1 : 1))) {
        text += `:${chain}\n${rules.map((rule) => `-A ${chain} ${rule}\n`).join('')}`;
      }
    }
    return text;
  }

  #apply(table: IptablesTable, chains: Chains, line: string, number: number): boolean {
    if (line.startsWith(':')) {
      const chain = line.slice(1, line.indexOf(' '));
      if (!builtin[table].includes(chain)) chains.set(chain, []);
      return false;
    }
    const [, op, chain, rule = ''] = /^(-[ACDIX]) (\S+)(?: (.*))?$/.exec(line) ?? [];
    if (op === undefined || chain === undefined) throw refusal(number, 'cannot be read');
    const rules = chains.get(chain);
    if (rules === undefined) throw refusal(number, `Chain '${chain}' does not exist`);
    const answer = this.refuse({ table, chain, text: rule });
    if (op !== '-X' && answer === 'reading') throw refusal(number, 'bad argument');
    switch (op) {
      case '-A':
        chains.set(chain, [...rules, rule]);
        break;
      case '-I':
        chains.set(chain, [rule, ...rules]);
        break;
      case '-X':
        if (rules.length > 0 || referrers(chains, chain).length > 0)
          throw iptablesFailure('restore', 4, `line ${number}: CHAIN_DEL failed (busy): chain ${chain}`);
        chains.delete(chain);
        break;
      default: {
        const at = rules.indexOf(rule);
        if (at < 0) throw refusal(number, 'Bad rule (does a matching rule exist in that chain?)');
        if (op === '-D') chains.set(chain, rules.toSpliced(at, 1));
      }
    }
    return answer === 'kernel';
  }
}

function refusal(line: number, message: string): IptablesError {
  return iptablesFailure('restore', 2, `iptables-restore: ${message}\nError occurred at line: ${line}\n`);
}

function targetOf(rule: string): string | undefined {
  return / ?-j (\S+)/.exec(rule)?.[1];
}

function referrers(chains: Chains, target: string): string[] {
  const found: string[] = [];
  for (const [chain, rules] of chains) if (rules.some((rule) => targetOf(rule) === target)) found.push(chain);
  return found;
}

function checkTargets(chains: Chains, line: number): void {
  for (const rules of chains.values()) {
    for (const rule of rules) {
      const target = targetOf(rule);
      if (target !== undefined && !targets.has(target) && !chains.has(target))
        throw refusal(line, `Chain '${target}' does not exist`);
    }
  }
}

function asText(args: readonly string[]): string {
  return args.map((argument) => (argument.includes(' ') ? `"${argument}"` : argument)).join(' ');
}
