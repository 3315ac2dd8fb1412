import { isServicePortChain } from './chain-names.ts';
import { baseChainJumps, CANARY_CHAIN, FIREWALL_CHAIN, ownChains } from './top-level-chains.ts';

/** A change of a ruleset that the kernel told about. */
export interface RulesetChange {
  /** The table in iptables' terms, `nat` or `filter`. */
  readonly table: string;
  /** The chain whose rules changed or that was removed; `undefined` when the whole table is concerned. */
  readonly chain: string | undefined;
  /** Name of the process that did it, where the kernel said so. */
  readonly processName?: string;
}

/** Tells of changes until disposed of. The listener must not be called for other families than the proxier's. */
export type WatchForeignChanges = (listener: (change: RulesetChange) => void) => Disposable;

export type ChangeMeaning =
  /** Nothing that concerns us. */
  | 'none'
  /** A chain that leads to ours: the jump may be gone. */
  | 'base-chain'
  /** One of our chains. */
  | 'own-chain';

/** What a change by somebody else means for our rules. */
export function meaningOf(change: RulesetChange): ChangeMeaning {
  const { table, chain } = change;
  if (table !== 'nat' && table !== 'filter') return 'none';
  if (chain === undefined) return 'own-chain';
  if (chain === FIREWALL_CHAIN || chain === CANARY_CHAIN) return 'none';
  if (ownChains[table].includes(chain) || (table === 'nat' && isServicePortChain(chain))) return 'own-chain';
  return baseChainJumps.some((jump) => jump.table === table && jump.from === chain) ? 'base-chain' : 'none';
}

/** Whether a change may be one that our own restore made while it ran. */
export function mayBeOurs(change: RulesetChange): boolean {
  return change.processName === undefined || /^ip6?tables/.test(change.processName);
}
