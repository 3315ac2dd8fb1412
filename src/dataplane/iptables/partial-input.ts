import { type PolicyChain, policyChains } from './policy-chains.ts';
import { countLines, type ProgrammedPort } from './programmed-port.ts';
import type { ProgrammedState } from './programmed-state.ts';
import { chainLine, deletions, frontendChainRules, type Segment } from './restore-input.ts';
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
}

export interface PartialOutput {
  readonly segments: readonly Segment[];
  /** Rules in the segments, deleted ones included. */
  readonly written: { readonly filter: number; readonly nat: number };
  /** Chains deleted. */
  readonly deletedChains: number;
}

/** The input of a partial sync. No segments where nothing changes in the kernel. */
export function partialInput(input: PartialInput): PartialOutput {
  const { declarations, rules, stale, count } = ownChainChanges(input.changes);
  const filter = sharedChainChanges(input, 'filter');
  const nat = sharedChainChanges(input, 'nat');
  const segments: Segment[] = [];
  if (filter.segments.length > 0)
    segments.push({ text: '*filter\n' }, ...filter.segments, { text: 'COMMIT\n' });
  if (nat.segments.length > 0 || declarations.length > 0 || stale.length > 0) {
    segments.push({ text: '*nat\n' }, ...declarations, ...rules, ...nat.segments);
    segments.push(...deletions(stale), { text: 'COMMIT\n' });
  }
  return {
    segments,
    written: { filter: filter.rules, nat: nat.rules + count },
    deletedChains: stale.length,
  };
}

/** The chains of changed ServicePorts: those that differ are written, those that are gone are flushed and deleted. */
function ownChainChanges(changes: readonly PortChange[]): {
  declarations: Segment[];
  rules: Segment[];
  stale: string[];
  count: number;
} {
  const declarations: Segment[] = [];
  const rules: Segment[] = [];
  const stale: string[] = [];
  let count = 0;
  for (const { key, before, after } of changes) {
    const old = new Map(chainsOf(before).map((chain) => [chain.name, chain]));
    let declared = '';
    let text = '';
    for (const chain of chainsOf(after)) {
      const was = old.get(chain.name);
      old.delete(chain.name);
      if (was?.rules === chain.rules && was.masquerade === chain.masquerade) continue;
      declared += chainLine(chain.name);
      text += chain.masquerade + chain.rules;
    }
    stale.push(...old.keys());
    if (declared === '') continue;
    declarations.push({ owner: key, text: declared });
    rules.push({ owner: key, text });
    count += countLines(text);
  }
  if (stale.length > 0) declarations.push({ text: stale.map(chainLine).join('') });
  return { declarations, rules, stale, count };
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
