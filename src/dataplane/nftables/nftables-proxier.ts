import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import { isBusy } from '../../kernel/nftables/nftables-error.ts';
import type { NftMap, NftSet } from '../../kernel/nftables/objects.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import type { PlanDiff, ProxyPlan } from '../../plan/proxy-plan.ts';
import type { Proxier, SyncReport } from '../proxier.ts';
import { diffElements } from './element-diff.ts';
import { ElementTable } from './element-table.ts';
import { type NftFamily, nftFamily } from './family-terms.ts';
import { buildFullSync } from './full-sync.ts';
import { type SetName, TABLE } from './names.ts';
import type { NftablesKernel } from './nftables-kernel.ts';
import { addPrivate, removePrivate } from './private-changes.ts';
import { privateObjects } from './private-objects.ts';
import { namedSets } from './sets.ts';
import { type SharedElements, visitShared } from './shared-elements.ts';
import { treatmentOfChain, withTargets } from './treatment.ts';
import { treatmentRules } from './treatment-rules.ts';

/** How long a chain that nobody leads to any more stays: on kernels before 6.2 it counts as used for a moment (spec A17). */
const STALE_AFTER_MS = 1000;

/** What the last successful sync left in the kernel. */
export interface ProgrammedState {
  readonly shared: SharedElements;
  /** How many verdict elements lead to each treatment chain or private chain. */
  readonly chainUse: Map<string, number>;
  /** Chains of treatments that exist, used or not. */
  readonly treatmentChains: Set<string>;
  /** Elements in each set, and room for them. */
  readonly fill: Map<SetName, { count: number; readonly room: number }>;
  /** Chains that nothing leads to any more, and since when (monotonic ms). */
  readonly stale: Map<string, number>;
}

export interface NftablesProxierDependencies {
  readonly kernel: NftablesKernel;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Programs one family's table `kube-proxy`. Full syncs build the whole table in one transaction, partial syncs touch
 * the elements of changed ServicePorts; see README.md for the shape of the table.
 */
export class NftablesProxier implements Proxier {
  readonly #kernel: NftablesKernel;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #family: NftFamily;
  readonly #sets: ReadonlyMap<SetName, NftSet | NftMap>;
  #state: ProgrammedState | undefined;

  constructor(settings: Pick<PlanSettings, 'family'>, dependencies: NftablesProxierDependencies) {
    this.#kernel = dependencies.kernel;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger.with({ ipFamily: settings.family });
    this.#family = nftFamily(settings.family);
    this.#sets = namedSets(this.#family);
  }

  async sync(plan: ProxyPlan, diff: PlanDiff | undefined): Promise<SyncReport> {
    const state = this.#state;
    // Until this sync has succeeded nothing is known for sure.
    this.#state = undefined;
    const partial =
      diff === undefined || state === undefined ? undefined : this.#partialSync(plan, diff, state);
    const report = partial ?? this.#fullSync(plan);
    return report;
  }

  close(): void {
    this.#kernel.close();
  }

  #fullSync(plan: ProxyPlan): SyncReport {
    const existing = this.#kernel.listNames(this.#family, TABLE);
    if (existing?.dormant === true) {
      // The kernel does not wake a table together with new base chains. Old rules must not come to life with it.
      const table = { kind: 'table' } as const;
      this.#kernel.commit(new Transaction(this.#family, TABLE).add(table).flush(table));
    }
    const full = buildFullSync(plan, this.#family, this.#sets, existing);
    const operations = this.#kernel.commit(full.transaction);
    const now = this.#clock.monotonic();
    this.#state = full.state;
    for (const chain of full.leftovers) full.state.stale.set(chain, now - STALE_AFTER_MS);
    return { operations: operations + (this.#deleteStaleChains(full.state, now) ?? 0) };
  }

  /**
   * Returns `undefined` where only a full sync helps: when a set has no room for what is to be added, or when stale
   * chains cannot be deleted for another reason than that they are in use, so that the table is not what it should be.
   */
  #partialSync(plan: ProxyPlan, diff: PlanDiff, state: ProgrammedState): SyncReport | undefined {
    const now = this.#clock.monotonic();
    const deletions = this.#deleteStaleChains(state, now);
    if (deletions === undefined) return undefined;
    const elements = diffElements(diff);
    const deleted = new ElementTable(this.#sets);
    const added = new ElementTable(this.#sets);
    for (const emit of elements.deleted) emit(deleted);
    for (const emit of elements.added) emit(added);
    for (const [key, change] of elements.shared) {
      const outcome = state.shared.change(key, change);
      if (outcome !== undefined) visitShared(key, outcome === 'added' ? added : deleted);
    }
    if (!reserve(state, deleted, added)) return undefined;

    const transaction = new Transaction(this.#family, TABLE);
    const unused = this.#countChainUse(state, elements.chainUse, plan.settings, transaction);
    const privates = diff.map(({ before, after }) => ({
      before: before && privateObjects(before, plan.settings),
      after: after && privateObjects(after, plan.settings),
    }));
    const live = new Set(privates.flatMap(({ after }) => after?.chains.map((chain) => chain.name) ?? []));
    for (const { before, after } of privates) addPrivate(transaction, before, after);
    for (const [set, rows] of deleted.rows)
      transaction.delete({ kind: 'elements', of: this.#sets.get(set)!, rows });
    for (const [set, rows] of added.rows)
      transaction.add({ kind: 'elements', of: this.#sets.get(set)!, rows });
    for (const { before, after } of privates) {
      for (const chain of removePrivate(transaction, before, after, live)) unused.push(chain);
    }
    for (const chain of live) state.stale.delete(chain);
    const changes = transaction.isEmpty ? 0 : this.#kernel.commit(transaction);
    for (const chain of unused) state.stale.set(chain, now);
    this.#state = state;
    return { operations: deletions + changes };
  }

  /** Adds the treatment chains that come into use; returns those that fall out of use. */
  #countChainUse(
    state: ProgrammedState,
    changes: ReadonlyMap<string, number>,
    settings: PlanSettings,
    transaction: Transaction,
  ): string[] {
    const unused: string[] = [];
    for (const [chain, change] of changes) {
      const treatment = treatmentOfChain(chain);
      if (treatment === undefined) continue;
      for (const { chain: name } of withTargets(treatment)) {
        const count = (state.chainUse.get(name) ?? 0) + change;
        if (count > 0) state.chainUse.set(name, count);
        else state.chainUse.delete(name);
      }
    }
    for (const chain of changes.keys()) {
      const treatment = treatmentOfChain(chain);
      if (treatment === undefined) continue;
      for (const target of withTargets(treatment)) {
        if (!state.chainUse.has(target.chain)) {
          unused.push(target.chain);
          continue;
        }
        state.stale.delete(target.chain);
        if (state.treatmentChains.has(target.chain)) continue;
        state.treatmentChains.add(target.chain);
        transaction.add({ kind: 'chain', name: target.chain });
        for (const rule of treatmentRules(target, settings)) transaction.add(rule);
      }
    }
    return unused;
  }

  /** Returns the number of operations, `undefined` when the kernel refused them for no passing reason. */
  #deleteStaleChains(state: ProgrammedState, now: number): number | undefined {
    const due = [...state.stale].filter(([, since]) => now - since >= STALE_AFTER_MS).map(([chain]) => chain);
    if (due.length === 0) return 0;
    const transaction = new Transaction(this.#family, TABLE);
    // Their rules go first: stale chains may lead to each other.
    for (const chain of due) transaction.flush({ kind: 'chain', name: chain });
    for (const chain of due) transaction.delete({ kind: 'chain', name: chain });
    try {
      this.#kernel.commit(transaction);
    } catch (error) {
      const values = { err: describeError(error) };
      for (const chain of due) state.stale.set(chain, now);
      if (isBusy(error)) {
        this.#logger.verbose(2, 'Unused chains could not be deleted yet', values);
        return 0;
      }
      this.#logger.info('Unused chains could not be deleted', values);
      return undefined;
    }
    for (const chain of due) {
      state.stale.delete(chain);
      state.treatmentChains.delete(chain);
    }
    return transaction.operations.length;
  }
}

/** Counts the elements in; false when a set would be fuller than it was declared. */
function reserve(state: ProgrammedState, deleted: ElementTable, added: ElementTable): boolean {
  let fits = true;
  const change = (set: SetName, by: number) => {
    const fill = state.fill.get(set)!;
    fill.count += by;
    if (fill.count > fill.room) fits = false;
  };
  for (const [set, rows] of deleted.rows) change(set, -rows.count);
  for (const [set, rows] of added.rows) change(set, rows.count);
  return fits;
}
