import type { Logger } from '../../base/logger.ts';
import type { Iptables } from '../../kernel/iptables/iptables.ts';
import { isRefusal } from '../../kernel/iptables/iptables-error.ts';
import type { ProxyPlan } from '../../plan/proxy-plan.ts';
import { findMissingJumps } from './base-chain-jumps.ts';
import { hasPlainName, policyChainNames } from './chain-decisions.ts';
import { isServicePortChain } from './chain-names.ts';
import { chainsPerBlock } from './cleanup.ts';
import { bisect, findCulprits } from './culprits.ts';
import { programPort } from './programmed-port.ts';
import { ProgrammedState } from './programmed-state.ts';
import { chainLine, fullInput, policyRules, type Segment, textOf } from './restore-input.ts';
import type { RuleContext } from './rule-context.ts';
import { masqueradeRules } from './static-rules.ts';
import { type BaseChainJump, MARK_MASQ_CHAIN, POSTROUTING_CHAIN } from './top-level-chains.ts';

export interface FullSyncInput {
  readonly plan: ProxyPlan;
  readonly context: RuleContext;
  /** Jumps that are not in place when the sync begins. */
  readonly missingJumps: readonly BaseChainJump[];
  /** ServicePorts known to be refused, by key, with the reason. */
  readonly setAside: ReadonlyMap<string, string>;
  /** ServicePorts, by key, that are looked at first when something is refused: they were before, or have just changed. */
  readonly suspects: Iterable<string>;
}

export interface FullSyncDependencies {
  readonly iptables: Iptables;
  readonly logger: Logger;
  readonly onRestoreFailure: () => void;
}

export interface FullSyncResult {
  readonly state: ProgrammedState;
  /** ServicePorts that are not programmed, with the reason. */
  readonly setAside: ReadonlyMap<string, string>;
  readonly deletedChains: number;
}

/** Reason for ServicePorts whose names cannot be written into a rule. */
export const BAD_NAME = 'its name has characters that Kubernetes does not allow';

/** Refused attempts in one sync; each costs a run of iptables-restore that ends at the first refused rule. */
const MAX_ATTEMPTS = 500;
/** After so many the nft back-end, where trials are cheap, looks for all that are left in one go. */
const ATTEMPTS_BEFORE_TRIALS = 4;
const MAX_TRIALS = { nft: 5000, legacy: 1000 };
const TRIAL_GROUP = 50;

/**
 * Writes everything. A ServicePort that iptables or the kernel refuses is found and set aside, and the rest is
 * programmed; where more than half of all are refused, the fault lies elsewhere and the refusal is thrown.
 */
export async function fullSync(
  input: FullSyncInput,
  dependencies: FullSyncDependencies,
): Promise<FullSyncResult> {
  const { plan, context } = input;
  const { iptables, logger } = dependencies;
  const setAside = new Map(input.setAside);
  const keepChains = new Set<string>();
  const state = new ProgrammedState();
  for (const [key, port] of plan.servicePorts) {
    if (!hasPlainName(port)) setAside.set(key, BAD_NAME);
    else if (!setAside.has(key)) state.set(key, programPort(port, context));
  }
  let { missingJumps } = input;
  let suspects = [...input.suspects].filter((key) => state.get(key) !== undefined);
  for (let attempt = 1; ; attempt++) {
    // Blocks before the refused one stay applied, so each attempt looks again at what there is.
    if (attempt > 1 && missingJumps.length > 0) missingJumps = await findMissingJumps(iptables);
    const staleChains = staleOf(await existingChains(iptables, logger), state);
    const segments = () =>
      fullInput({
        state,
        context,
        missingJumps,
        staleChains,
        keepChains,
        chainsPerBlock: chainsPerBlock(iptables),
      });
    try {
      await iptables.restore(textOf(segments()));
      return { state, setAside, deletedChains: staleChains.length - keepChains.size };
    } catch (error) {
      dependencies.onRestoreFailure();
      const culprits = findCulprits(error, segments(), state);
      if (culprits === undefined || attempt === MAX_ATTEMPTS) throw error;
      const owners = new Set(culprits.owners);
      for (const key of await tryInGroups(suspects, state, context, iptables)) owners.add(key);
      suspects = [];
      const isOneOfMany = iptables.backend === 'nft' && attempt === ATTEMPTS_BEFORE_TRIALS;
      if (isOneOfMany || (owners.size === 0 && culprits.undeletable.length === 0)) {
        const all = [...state.inOrder()].map(([key]) => key);
        for (const key of await tryInGroups(all, state, context, iptables)) owners.add(key);
      }
      const undeletable = culprits.undeletable.filter((chain) => !keepChains.has(chain));
      if (owners.size === 0 && undeletable.length === 0) throw error;
      if (setAside.size + owners.size > Math.max(8, plan.servicePorts.size / 2)) throw error;
      for (const chain of undeletable) {
        logger.warn('A chain is in use by somebody else and stays', { chain });
        keepChains.add(chain);
      }
      for (const key of owners) {
        setAside.set(key, culprits.reason);
        state.set(key, undefined);
      }
    }
  }
}

async function existingChains(iptables: Iptables, logger: Logger): Promise<readonly string[]> {
  try {
    return await iptables.listChains('nat');
  } catch (error) {
    logger.error('Cannot look for stale chains, none are deleted', error);
    return [];
  }
}

function staleOf(existing: readonly string[], state: ProgrammedState): readonly string[] {
  const stale = new Set(existing.filter(isServicePortChain));
  if (stale.size === 0) return [];
  for (const [, port] of state.inOrder())
    for (const name of policyChainNames(port.decisions)) stale.delete(name);
  return [...stale].sort();
}

/**
 * For refusals that name no line, as the kernel's of the legacy back-end: writes the chains of ServicePorts in groups,
 * without leading anybody to new ones, and narrows down the groups that are refused. Finds nobody where a trial without
 * any ServicePort is refused: then the fault is elsewhere.
 */
async function tryInGroups(
  keys: readonly string[],
  state: ProgrammedState,
  context: RuleContext,
  iptables: Iptables,
): Promise<readonly string[]> {
  if (keys.length === 0) return [];
  const size = iptables.backend === 'nft' ? TRIAL_GROUP : Math.max(1, keys.length);
  const refused: string[] = [];
  let trials = 0;
  const accepts = async (group: readonly string[]): Promise<boolean> => {
    trials++;
    try {
      await iptables.restore(textOf(trialInput(group, state, context)), 'nat');
      return true;
    } catch (error) {
      if (!isRefusal(error) || trials >= MAX_TRIALS[iptables.backend]) throw error;
      return false;
    }
  };
  if (!(await accepts([]))) return [];
  for (let at = 0; at < keys.length; at += size)
    refused.push(...(await bisect(keys.slice(at, at + size), accepts)));
  return refused;
}

function* trialInput(
  keys: readonly string[],
  state: ProgrammedState,
  context: RuleContext,
): Generator<Segment> {
  yield {
    text: `*nat\n${chainLine(POSTROUTING_CHAIN)}${chainLine(MARK_MASQ_CHAIN)}${masqueradeRules(context)}`,
  };
  for (const key of keys) {
    const port = state.get(key)!;
    yield { text: policyChainNames(port.decisions).map(chainLine).join('') + policyRules(port) };
  }
  yield { text: 'COMMIT\n' };
}
