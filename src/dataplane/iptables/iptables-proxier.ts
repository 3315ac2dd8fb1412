import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { Iptables } from '../../kernel/iptables/iptables.ts';
import { IptablesError, isRefusal } from '../../kernel/iptables/iptables-error.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import type { PlanDiff, ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import type { Proxier, SyncReport } from '../proxier.ts';
import { findMissingJumps } from './base-chain-jumps.ts';
import { CanaryMonitor } from './canary-monitor.ts';
import { hasPlainName } from './chain-decisions.ts';
import { chainsPerBlock } from './cleanup.ts';
import { findCulprits } from './culprits.ts';
import { ForeignChangeWatch } from './foreign-change-watch.ts';
import type { WatchForeignChanges } from './foreign-changes.ts';
import { BAD_NAME, type FullSyncResult, fullSync } from './full-sync.ts';
import { chainsRemovedFrom, type PortChange, partialInput } from './partial-input.ts';
import { type ProgrammedPort, programPort } from './programmed-port.ts';
import type { ProgrammedState } from './programmed-state.ts';
import { allRules, textOf } from './restore-input.ts';
import {
  ctInvalidCounter,
  LARGE_CLUSTER_ENDPOINTS,
  localhostNodePortsCounter,
  type RuleContext,
  ruleContext,
} from './rule-context.ts';
import { type IptablesRuleCounts, ruleCounts } from './rule-counts.ts';
import { counterTrial, refusedNodePortAddresses } from './static-rules.ts';
import { type BaseChainJump, FIREWALL_CHAIN } from './top-level-chains.ts';

/** What this mode is told besides the plan. */
export interface IptablesOptions {
  /**
   * Whether sysctl `net.netfilter.nf_conntrack_tcp_be_liberal` is on: invalid packets are not dropped then. Asked in each
   * full sync, the first of which comes after the settings of the host are made.
   */
  readonly conntrackTcpBeLiberal: () => boolean;
  /** Milliseconds between two looks at the canary chains; syncPeriod. */
  readonly monitorIntervalMs: number;
  /** Called when somebody else has changed our rules: the caller runs a full sync. */
  readonly onForeignChange?: (what: string) => void;
  /** Called for each ServicePort that could not be programmed, when it is left out. */
  readonly onSetAside?: (event: SetAside) => void;
}

export interface SetAside {
  /** See servicePortKey. */
  readonly servicePort: string;
  readonly reason: string;
}

export interface IptablesProxierDependencies {
  readonly iptables: Iptables;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Creates counter objects of these names; returns those that exist afterwards. Without it rules do without. */
  readonly ensureCounters?: (names: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Events of the kernel about changed rules, where there are any (nft back-end). */
  readonly watchForeignChanges?: WatchForeignChanges;
}

export interface IptablesSyncReport extends SyncReport {
  readonly kind: 'full' | 'partial';
  readonly rules: IptablesRuleCounts;
  /** ServicePorts that are not programmed, and why. */
  readonly setAside: ReadonlyMap<string, string>;
}

/** Counters since the start. */
export interface IptablesFailures {
  /** Runs of iptables-restore that failed. */
  readonly restores: number;
  /** Partial syncs that failed. */
  readonly partialSyncs: number;
}

/** Below this many changed rules in a shared chain they are changed one by one; reading the chain costs more beyond. */
const MAX_EDITS = 100;

/**
 * Programs one family through iptables. See README.md for the chains. The back-end legacy replaces a whole table with
 * each write, so shared chains are written whole there; on nft only rules that differ are touched.
 */
export class IptablesProxier implements Proxier {
  readonly #options: IptablesOptions;
  readonly #dependencies: IptablesProxierDependencies;
  readonly #iptables: Iptables;
  readonly #monitor: CanaryMonitor;
  readonly #watch: ForeignChangeWatch;
  #subscription: Disposable | undefined;
  /** What the last successful sync left; `undefined` where that is not known. */
  #state: ProgrammedState | undefined;
  #counters: ReadonlySet<string> = new Set();
  /** Whether rules that count are accepted; `undefined` before that is known. */
  #canCount: boolean | undefined;
  #conntrackTcpBeLiberal = false;
  /** What was refused, by key of the ServicePort, and why. */
  #setAside = new Map<string, { readonly rules: string; readonly reason: string }>();
  /** Changed in a sync that was refused without a word on what was wrong. */
  #suspects: ReadonlySet<string> = new Set();
  #hasSynced = false;
  #restoreFailures = 0;
  #partialFailures = 0;

  constructor(options: IptablesOptions, dependencies: IptablesProxierDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#iptables = dependencies.iptables;
    const onChange = (what: string) => this.#foreignChange(what);
    this.#monitor = new CanaryMonitor(
      { intervalMs: options.monitorIntervalMs, onLoss: () => onChange('tables were flushed') },
      dependencies,
    );
    this.#watch = new ForeignChangeWatch(onChange, dependencies);
  }

  get failures(): IptablesFailures {
    return { restores: this.#restoreFailures, partialSyncs: this.#partialFailures };
  }

  async sync(plan: ProxyPlan, diff: PlanDiff | undefined): Promise<IptablesSyncReport> {
    const state = this.#state;
    // Until this sync has succeeded nothing is known for sure.
    this.#state = undefined;
    return this.#watch.whileWriting(() =>
      diff === undefined || state === undefined
        ? this.#fullSync(plan, new Map())
        : this.#partialSync(plan, diff, state),
    );
  }

  close(): void {
    this.#monitor.close();
    this.#watch.close();
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
  }

  async #fullSync(plan: ProxyPlan, setAside: ReadonlyMap<string, string>): Promise<IptablesSyncReport> {
    const missingJumps = await findMissingJumps(this.#iptables);
    this.#counters = await this.#ensureCounters();
    this.#conntrackTcpBeLiberal = this.#options.conntrackTcpBeLiberal();
    let endpoints = 0;
    for (const port of plan.servicePorts.values()) endpoints += port.endpoints.length;
    const context = this.#context(plan.settings, endpoints);
    const refused = refusedNodePortAddresses(context);
    if (refused.length > 0)
      this.#dependencies.logger.warn('Node ports are not served on loopback addresses', {
        addresses: refused,
      });
    // The other shared chains are declared in what is written; this one only where it gets a rule.
    if (missingJumps.some((jump) => jump.to === FIREWALL_CHAIN) && !context.localhostNodePorts)
      await this.#iptables.createChain('filter', FIREWALL_CHAIN);
    const result = await fullSync(
      { plan, context, missingJumps, setAside, suspects: [...this.#setAside.keys(), ...this.#suspects] },
      {
        iptables: this.#iptables,
        logger: this.#dependencies.logger,
        onRestoreFailure: () => this.#restoreFailures++,
      },
    );
    return this.#finishFullSync(plan, context, missingJumps, result);
  }

  #finishFullSync(
    plan: ProxyPlan,
    context: RuleContext,
    missingJumps: readonly BaseChainJump[],
    result: FullSyncResult,
  ): IptablesSyncReport {
    const { state } = result;
    this.#suspects = new Set();
    this.#replaceSetAside(plan, context, result.setAside);
    const rules = ruleCounts(state, context);
    if (this.#hasSynced && missingJumps.length > 0) {
      this.#dependencies.logger.info('Jumps to our chains were missing and are back', {
        ipFamily: this.#iptables.family,
        jumps: missingJumps.map((jump) => `${jump.from} to ${jump.to}`),
      });
    }
    this.#startWatching();
    this.#state = state;
    const operations = rules.filter.total + rules.nat.total + missingJumps.length + result.deletedChains;
    return { operations, ...this.#report('full', state, rules) };
  }

  async #partialSync(plan: ProxyPlan, diff: PlanDiff, state: ProgrammedState): Promise<IptablesSyncReport> {
    const { context, changes } = this.#takeChanges(plan, diff, state);
    const output = partialInput({
      state,
      context,
      changes,
      maxEdits: this.#iptables.backend === 'legacy' ? 0 : MAX_EDITS,
      chainsPerBlock: chainsPerBlock(this.#iptables),
    });
    if (this.#subscription !== undefined) this.#watch.limitTo(chainsRemovedFrom(output.segments));
    try {
      if (output.segments.length > 0) await this.#iptables.restore(textOf(output.segments));
    } catch (error) {
      this.#restoreFailures++;
      this.#partialFailures++;
      const culprits = findCulprits(error, output.segments, state);
      if (culprits === undefined || culprits.owners.length === 0) {
        if (culprits !== undefined) this.#suspects = new Set(changes.map(({ key }) => key));
        throw error;
      }
      // What was changed is at fault, not the state of the kernel: all else is programmed at once.
      this.#watch.limitTo(undefined);
      const setAside = new Map(culprits.owners.map((key) => [key, culprits.reason]));
      for (const [key, { reason }] of this.#setAside) setAside.set(key, reason);
      return this.#fullSync(plan, setAside);
    }
    this.#state = state;
    const { filter, nat } = output.written;
    const rules = ruleCounts(state, context, output.written);
    return { operations: filter + nat + output.deletedChains, ...this.#report('partial', state, rules) };
  }

  /** Enters the changes into the state. */
  #takeChanges(
    plan: ProxyPlan,
    diff: PlanDiff,
    state: ProgrammedState,
  ): { context: RuleContext; changes: PortChange[] } {
    let { endpoints } = state.totals;
    for (const { before, after } of diff) {
      const key = (before ?? after)!.key;
      endpoints += (after?.endpoints.length ?? 0) - (state.get(key)?.counts.endpoints ?? 0);
    }
    const context = this.#context(plan.settings, endpoints);
    const changes: PortChange[] = [];
    for (const change of diff) {
      const key = (change.before ?? change.after)!.key;
      const before = state.get(key);
      const after = change.after === undefined ? undefined : this.#wanted(change.after, context);
      if (change.after === undefined) this.#setAside.delete(key);
      if (before === undefined && after === undefined) continue;
      state.set(key, after);
      changes.push({ key, before, after });
    }
    return { context, changes };
  }

  /** A ServicePort that was refused is not tried again as long as its rules are the same. */
  #wanted(plan: ServicePortPlan, context: RuleContext): ProgrammedPort | undefined {
    const { key } = plan;
    if (!hasPlainName(plan)) {
      this.#setAsideOne(key, '', BAD_NAME);
      return undefined;
    }
    const port = programPort(plan, context);
    const refused = this.#setAside.get(key);
    if (refused === undefined) return port;
    if (refused.rules === allRules(port)) return undefined;
    this.#setAside.delete(key);
    return port;
  }

  #replaceSetAside(plan: ProxyPlan, context: RuleContext, reasons: ReadonlyMap<string, string>): void {
    for (const key of this.#setAside.keys()) if (!reasons.has(key)) this.#setAside.delete(key);
    for (const [key, reason] of reasons) {
      const refused = plan.servicePorts.get(key);
      if (refused === undefined) this.#setAside.delete(key);
      else this.#setAsideOne(key, reason === BAD_NAME ? '' : allRules(programPort(refused, context)), reason);
    }
  }

  #setAsideOne(key: string, rules: string, reason: string): void {
    const known = this.#setAside.get(key);
    this.#setAside.set(key, { rules, reason });
    if (known?.rules !== rules) this.#options.onSetAside?.({ servicePort: key, reason });
  }

  #context(settings: PlanSettings, endpoints: number): RuleContext {
    return ruleContext(settings, {
      randomFully: this.#iptables.features.randomFully,
      conntrackTcpBeLiberal: this.#conntrackTcpBeLiberal,
      counters: this.#counters,
      endpointComments: endpoints <= LARGE_CLUSTER_ENDPOINTS,
    });
  }

  #report(
    kind: 'full' | 'partial',
    state: ProgrammedState,
    rules: IptablesRuleCounts,
  ): Omit<IptablesSyncReport, 'operations'> {
    const { endpoints } = state.totals;
    const isWatched = this.#dependencies.watchForeignChanges !== undefined;
    return {
      kind,
      rules,
      skipHourlyFullSync: isWatched && endpoints > LARGE_CLUSTER_ENDPOINTS,
      setAside: new Map([...this.#setAside].map(([key, { reason }]) => [key, reason])),
    };
  }

  /** Counters that exist. None where iptables or the kernel lacks the match for them, which is tried once. */
  async #ensureCounters(): Promise<ReadonlySet<string>> {
    if (this.#canCount === false) return new Set();
    try {
      const names = [ctInvalidCounter, localhostNodePortsCounter];
      const counters = (await this.#dependencies.ensureCounters?.(names)) ?? new Set<string>();
      const [counter] = counters;
      if (counter !== undefined && this.#canCount === undefined) {
        await this.#iptables.restore(counterTrial(counter), 'filter');
        this.#canCount = true;
      }
      return counters;
    } catch (error) {
      if (isRefusal(error)) this.#canCount = false;
      else if (error instanceof IptablesError) throw error;
      this.#dependencies.logger.warn('Rules do without counters', { err: describeError(error) });
      return new Set();
    }
  }

  #startWatching(): void {
    this.#hasSynced = true;
    this.#monitor.start();
    this.#subscription ??= this.#dependencies.watchForeignChanges?.((change) => this.#watch.take(change));
  }

  #foreignChange(what: string): void {
    this.#state = undefined;
    this.#options.onForeignChange?.(what);
  }
}
