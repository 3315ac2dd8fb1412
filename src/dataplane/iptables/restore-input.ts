import { policyChainNames } from './chain-decisions.ts';
import { policyChains } from './policy-chains.ts';
import type { ProgrammedPort } from './programmed-port.ts';
import type { ProgrammedState } from './programmed-state.ts';
import type { RuleContext } from './rule-context.ts';
import { firewallRules, forwardRules, masqueradeRules, nodePortDispatchRules } from './static-rules.ts';
import {
  type BaseChainJump,
  FIREWALL_CHAIN,
  FORWARD_CHAIN,
  type FrontendChain,
  jumpText,
  MARK_MASQ_CHAIN,
  POSTROUTING_CHAIN,
} from './top-level-chains.ts';

/** A piece of input for iptables-restore: whole lines. */
export interface Segment {
  readonly text: string;
  /** Key of the ServicePort that the lines are for. */
  readonly owner?: string;
  /** The chain that the lines delete. */
  readonly deletes?: string;
}

/** All that a full sync writes. */
export interface FullInput {
  readonly state: ProgrammedState;
  readonly context: RuleContext;
  /** Jumps from built-in chains that are not there yet. */
  readonly missingJumps: readonly BaseChainJump[];
  /** Chains of ServicePorts in the kernel that are not needed any more. */
  readonly staleChains: readonly string[];
  /** Those of them that somebody else leads to: they are emptied and stay. */
  readonly keepChains: ReadonlySet<string>;
  /** Most chains in one transaction of the nat table. */
  readonly chainsPerBlock: number;
}

/** `:NAME` creates a chain, or flushes an existing one. */
export function chainLine(name: string): string {
  return `:${name} - [0:0]\n`;
}

/**
 * The input of a full sync (spec B.1.3). Up to `chainsPerBlock` chains it is one transaction for each table, in the
 * shape that kube-proxy writes. Beyond, ServicePorts' own chains go ahead in blocks of their own: each block leaves
 * whole ServicePorts in their new state, which nobody is led to before the last block where they are new.
 */
export function* fullInput(input: FullInput): Generator<Segment> {
  yield* filterTable(input);
  const chains = countChains(input);
  yield* chains <= input.chainsPerBlock ? natTable(input) : natTableInBlocks(input);
}

function countChains(input: FullInput): number {
  let chains = input.staleChains.length;
  for (const [, port] of input.state.inOrder()) {
    // Policy chains and one for each endpoint: an upper bound that needs no names.
    chains += 4 + port.plan.allReachable.length;
  }
  return chains;
}

function* filterTable({ state, context, missingJumps }: FullInput): Generator<Segment> {
  const chains = [
    'KUBE-SERVICES',
    'KUBE-EXTERNAL-SERVICES',
    FORWARD_CHAIN,
    'KUBE-NODEPORTS',
    'KUBE-PROXY-FIREWALL',
  ];
  if (context.localhostNodePorts) chains.push(FIREWALL_CHAIN);
  yield { text: `*filter\n${chains.map(chainLine).join('')}${firewallRules(context)}` };
  for (const [owner, port] of state.inOrder()) yield { owner, text: filterRules(port) };
  yield { text: `${forwardRules(context)}${jumps(missingJumps, 'filter')}COMMIT\n` };
}

function* natTable({ state, context, missingJumps, staleChains, keepChains }: FullInput): Generator<Segment> {
  yield { text: '*nat\n' };
  yield {
    text: ['KUBE-SERVICES', 'KUBE-NODEPORTS', POSTROUTING_CHAIN, MARK_MASQ_CHAIN].map(chainLine).join(''),
  };
  for (const [owner, port] of state.inOrder())
    yield { owner, text: policyChainNames(port.decisions).map(chainLine).join('') };
  yield { text: staleChains.map(chainLine).join('') };
  yield { text: masqueradeRules(context) };
  for (const [owner, port] of state.inOrder()) yield { owner, text: natFrontends(port) + policyRules(port) };
  yield* deletions(staleChains.filter((chain) => !keepChains.has(chain)));
  yield { text: `${nodePortDispatchRules(context)}${jumps(missingJumps, 'nat')}COMMIT\n` };
}

function* natTableInBlocks(input: FullInput): Generator<Segment> {
  const { state, context } = input;
  yield {
    text: `*nat\n${chainLine(POSTROUTING_CHAIN)}${chainLine(MARK_MASQ_CHAIN)}${masqueradeRules(context)}`,
  };
  let chains = 0;
  for (const [owner, port] of state.inOrder()) {
    const names = policyChainNames(port.decisions);
    if (chains > 0 && chains + names.length > input.chainsPerBlock) {
      yield { text: 'COMMIT\n*nat\n' };
      chains = 0;
    }
    chains += names.length;
    yield { owner, text: names.map(chainLine).join('') + policyRules(port) };
  }
  yield { text: `COMMIT\n*nat\n${chainLine('KUBE-SERVICES')}${chainLine('KUBE-NODEPORTS')}` };
  for (const [owner, port] of state.inOrder()) yield { owner, text: natFrontends(port) };
  yield { text: `${nodePortDispatchRules(context)}${jumps(input.missingJumps, 'nat')}COMMIT\n` };
  yield* deletionBlocks('nat', input.staleChains, input.chainsPerBlock, input.keepChains);
}

/** Transactions that flush chains and delete all but those to `keep`. Chains come before those they lead to. */
export function* deletionBlocks(
  table: 'filter' | 'nat',
  chains: readonly string[],
  chainsPerBlock: number,
  keep: ReadonlySet<string>,
): Generator<Segment> {
  const sorted = chains.toSorted((a, b) => depth(a) - depth(b));
  for (let at = 0; at < sorted.length; at += chainsPerBlock) {
    const block = sorted.slice(at, at + chainsPerBlock);
    yield { text: `*${table}\n${block.map(chainLine).join('')}` };
    yield* deletions(block.filter((chain) => !keep.has(chain)));
    yield { text: 'COMMIT\n' };
  }
}

const order = ['KUBE-FW-', 'KUBE-XLB-', 'KUBE-EXT-', 'KUBE-SVL-', 'KUBE-SVC-', 'KUBE-SEP-', MARK_MASQ_CHAIN];

function depth(chain: string): number {
  return order.findIndex((prefix) => chain.startsWith(prefix));
}

/** Deletes empty chains. */
export function* deletions(chains: readonly string[]): Generator<Segment> {
  for (const chain of chains) yield { text: `-X ${chain}\n`, deletes: chain };
}

/** The rules of one ServicePort in the filter table. */
function filterRules({ frontends }: ProgrammedPort): string {
  return (
    frontends.clusterVerdicts + frontends.firewall + frontends.externalVerdicts + frontends.healthCheckPorts
  );
}

/** The rules of one ServicePort in shared chains of the nat table. */
function natFrontends({ frontends }: ProgrammedPort): string {
  return frontends.services + frontends.nodePorts;
}

/** The rules in a ServicePort's own chains. */
export function policyRules({ plan, decisions, context }: ProgrammedPort): string {
  const chains = policyChains(plan, decisions, context);
  let text = '';
  for (const chain of chains) text += chain.masquerade;
  for (const chain of chains) text += chain.rules;
  return text;
}

/** All rules of one ServicePort. */
export function allRules(port: ProgrammedPort): string {
  return filterRules(port) + natFrontends(port) + policyRules(port);
}

/** The whole content of one shared chain, without its chain line. */
export function* frontendChainRules(state: ProgrammedState, chain: FrontendChain): Generator<Segment> {
  for (const [owner, port] of state.inOrder()) {
    const text = port.frontends[chain];
    if (text !== '') yield { owner, text };
  }
}

function jumps(missing: readonly BaseChainJump[], table: 'filter' | 'nat'): string {
  return missing
    .filter((jump) => jump.table === table)
    .map((jump) => `-I ${jump.from} ${jumpText(jump)}\n`)
    .join('');
}

/** The text of segments, for the program. */
export function* textOf(segments: Iterable<Segment>): Generator<string> {
  for (const segment of segments) yield segment.text;
}
