import { type PolicyChain, policyChains } from './policy-chains.ts';
import { countLines, type ProgrammedPort } from './programmed-port.ts';
import type { ProgrammedState } from './programmed-state.ts';
import { chainLine, deletionBlocks, deletions, frontendChainRules, type Segment } from './restore-input.ts';
import type { RuleContext } from './rule-context.ts';
import { nodePortDispatchRules } from './static-rules.ts';
import { type FrontendChain, frontendChainKeys, frontendChains } from './top-level-chains.ts';

/** One ServicePort before and after. */
export interface PortChange {
  readonly key: string;
  readonly before: ProgrammedPort | undefined;
  readonly after: ProgrammedPort | undefined;
}

/** All that a partial sync writes. */
export interface PartialInput {
  /** After the changes. */
  readonly state: ProgrammedState;
  readonly context: RuleContext;
  readonly changes: readonly PortChange[];
  /**
   * Most rules that are deleted and inserted singly in a shared chain; for more the chain is written anew. 0 always
   * writes anew.
   */
  readonly maxEdits: number;
  /** Most chains in one transaction of the nat table. */
  readonly chainsPerBlock: number;
}

export interface PartialOutput {
  readonly segments: readonly Segment[];
  /** Rules in the segments, deleted ones included. */
  readonly written: { readonly filter: number; readonly nat: number };
  /** Chains deleted. */
  readonly deletedChains: number;
}

/**
 * The input of a partial sync; no segments where nothing changes in the kernel. Above `chainsPerBlock` chains it is cut
 * into transactions as in {@link fullInput}.
 */
export function partialInput(input: PartialInput): PartialOutput {
  const own = input.changes.map(ownChainChanges);
  const declared = own.reduce((sum, change) => sum + change.declared.length, 0);
  const stale = own.flatMap((change) => change.stale);
  const filter = sharedChainChanges(input, 'filter');
  const nat = sharedChainChanges(input, 'nat');
  const segments = transaction('filter', filter.segments);
  if (declared + stale.length <= input.chainsPerBlock) {
    const declarations = own.map(({ key, declared: names }) => declarationsOf(key, names));
    const rules = own.map(({ key, rules: text }) => ({ owner: key, text }));
    const flushed = { text: stale.map(chainLine).join('') };
    const parts = [...declarations, flushed, ...rules, ...nat.segments, ...deletions(stale)];
    segments.push(...transaction('nat', parts));
  } else {
    segments.push(...ownChainBlocks(own, input.chainsPerBlock));
    segments.push(...transaction('nat', nat.segments));
    segments.push(...deletionBlocks('nat', stale, input.chainsPerBlock, new Set()));
  }
  const ownRules = own.reduce((sum, change) => sum + countLines(change.rules), 0);
  return {
    segments,
    written: { filter: filter.rules, nat: nat.rules + ownRules },
    deletedChains: stale.length,
  };
}

/** The chains, as `table chain`, that lose rules or are deleted when the segments are written. */
export function chainsRemovedFrom(segments: readonly Segment[]): ReadonlySet<string> {
  const chains = new Set<string>();
  let table = '';
  for (const { text } of segments) {
    for (const [, begin, name] of text.matchAll(/^(\*|:|-[DX] )(\S+)/gm)) {
      if (begin === '*') table = name!;
      else chains.add(`${table} ${name}`);
    }
  }
  return chains;
}

/** What becomes of the chains of one ServicePort. */
interface OwnChainChanges {
  readonly key: string;
  /** Chains that are new or differ. */
  readonly declared: readonly string[];
  /** Their rules. */
  readonly rules: string;
  /** Chains that are gone. */
  readonly stale: readonly string[];
}

function ownChainChanges({ key, before, after }: PortChange): OwnChainChanges {
  const old = new Map(chainsOf(before).map((chain) => [chain.name, chain]));
  const declared: string[] = [];
  let rules = '';
  for (const chain of chainsOf(after)) {
    const was = old.get(chain.name);
    old.delete(chain.name);
    if (was?.rules === chain.rules && was.masquerade === chain.masquerade) continue;
    declared.push(chain.name);
    rules += chain.masquerade + chain.rules;
  }
  return { key, declared, rules, stale: [...old.keys()] };
}

function* ownChainBlocks(changes: readonly OwnChainChanges[], chainsPerBlock: number): Generator<Segment> {
  let block: Segment[] = [];
  let chains = 0;
  for (const { key, declared, rules } of changes) {
    if (chains > 0 && chains + declared.length > chainsPerBlock) {
      yield* transaction('nat', block);
      block = [];
      chains = 0;
    }
    chains += declared.length;
    block.push(declarationsOf(key, declared), { owner: key, text: rules });
  }
  yield* transaction('nat', block);
}

function declarationsOf(owner: string, chains: readonly string[]): Segment {
  return { owner, text: chains.map(chainLine).join('') };
}

function transaction(table: 'filter' | 'nat', parts: readonly Segment[]): Segment[] {
  const filled = parts.filter((segment) => segment.text !== '');
  return filled.length === 0 ? [] : [{ text: `*${table}\n` }, ...filled, { text: 'COMMIT\n' }];
}

function chainsOf(port: ProgrammedPort | undefined): readonly PolicyChain[] {
  return port === undefined ? [] : policyChains(port.plan, port.decisions, port.context);
}

function sharedChainChanges(
  input: PartialInput,
  table: 'filter' | 'nat',
): { segments: Segment[]; rules: number } {
  const segments: Segment[] = [];
  let rules = 0;
  const add = (segment: Segment) => {
    segments.push(segment);
    rules += countLines(segment.text);
  };
  for (const chain of frontendChainKeys) {
    if (frontendChains[chain].table !== table) continue;
    const edits = sharedChainEdits(input.changes, chain);
    if (edits.length === 0) continue;
    if (edits.length <= input.maxEdits) {
      for (const edit of edits) add(edit);
      continue;
    }
    segments.push({ text: chainLine(frontendChains[chain].chain) });
    for (const segment of frontendChainRules(input.state, chain)) add(segment);
    if (chain === 'services') add({ text: nodePortDispatchRules(input.context) });
  }
  return { segments, rules };
}

/**
 * Deletes and insertions, one line each. Rules go in at the top: their order among those of other ServicePorts does
 * not matter, since no two match the same packet, and the dispatch of node ports stays last.
 */
function sharedChainEdits(changes: readonly PortChange[], chain: FrontendChain): Segment[] {
  const deleted: Segment[] = [];
  const inserted: Segment[] = [];
  for (const { key, before, after } of changes) {
    const old = linesOf(before?.frontends[chain]);
    const now = linesOf(after?.frontends[chain]);
    if (old.length === 0 && now.length === 0) continue;
    const kept = new Set(old.filter((line) => now.includes(line)));
    for (const line of old) if (!kept.has(line)) deleted.push({ text: `-D${line.slice(2)}\n` });
    for (const line of now.toReversed())
      if (!kept.has(line)) inserted.push({ owner: key, text: `-I${line.slice(2)}\n` });
  }
  return [...deleted, ...inserted];
}

function linesOf(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.slice(0, -1).split('\n');
}
