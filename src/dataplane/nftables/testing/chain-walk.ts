import { isLoopback } from '../../../base/ip.ts';
import { DATA_TYPES, formatValue } from '../../../kernel/nftables/data-type.ts';
import { layoutTypes } from '../../../kernel/nftables/layout.ts';
import type { Rule } from '../../../kernel/nftables/objects.ts';
import type { Selector } from '../../../kernel/nftables/selector/selector.ts';
import { selectorText } from '../../../kernel/nftables/selector/selector-text.ts';
import type { DnatStatement } from '../../../kernel/nftables/statement/dnat.ts';
import type { MatchStatement } from '../../../kernel/nftables/statement/match.ts';
import type { Statement } from '../../../kernel/nftables/statement/statement.ts';
import type { VmapStatement } from '../../../kernel/nftables/statement/vmap.ts';
import type { SetListing, TableListing } from '../../../kernel/nftables/table-listing.ts';
import type { Verdict } from '../../../kernel/nftables/verdict.ts';
import { equalsConstant, type FieldValue, indexRows, keyText } from './packet-fields.ts';
import type { TracedNode, TracedPacket } from './trace-packet.ts';

/** A packet on its way, as the rules have left it so far. */
export interface Flow {
  readonly daddr: string;
  readonly dport: number;
  readonly mark: number;
  readonly translated: boolean;
  readonly masqueraded: boolean;
  readonly remembers: readonly string[];
  readonly share: number;
}

/** Where a flow has come to at the end of a chain or rule. */
export interface Branch {
  readonly flow: Flow;
  /** `next`: the rule ends without a verdict. `return`: the chain does. */
  readonly verdict: 'accept' | 'drop' | 'reject' | 'next' | 'return';
}

/** Evaluates chains of a table for one packet. Random numbers split a flow into all ways it can go. */
export class ChainWalk {
  readonly #listing: TableListing;
  readonly #packet: TracedPacket;
  readonly #node: TracedNode;
  readonly #indexes = new Map<string, ReadonlyMap<string, number>>();

  constructor(listing: TableListing, packet: TracedPacket, node: TracedNode) {
    this.#listing = listing;
    this.#packet = packet;
    this.#node = node;
  }

  /** All ways through a chain; `return` where it falls off the end. */
  chain(name: string, flow: Flow): Branch[] {
    const rules = this.#listing.chains.get(name)?.rules;
    if (rules === undefined) throw new Error(`there is no chain ${name}`);
    const done: Branch[] = [];
    let live: readonly Flow[] = [flow];
    for (const rule of rules) {
      const next: Flow[] = [];
      for (const one of live) {
        for (const branch of this.#statements(rule, 0, one)) {
          if (branch.verdict === 'next') next.push(branch.flow);
          else done.push(branch);
        }
      }
      live = merge(next);
    }
    return [...done, ...live.map((one): Branch => ({ flow: one, verdict: 'return' }))];
  }

  #statements(rule: Rule, at: number, flow: Flow): Branch[] {
    const statement = rule.statements[at];
    if (statement === undefined) return [{ flow, verdict: 'next' }];
    const go = (changed: Flow) => this.#statements(rule, at + 1, changed);
    switch (statement.kind) {
      case 'match':
        return this.#matches(statement, flow) ? go(flow) : [{ flow, verdict: 'next' }];
      case 'mark':
        return go({ ...flow, mark: changeMark(flow.mark, statement) });
      case 'update': {
        if (statement.op === 'delete') throw new Error('the tracer does not know how to forget');
        return go({ ...flow, remembers: [...flow.remembers, statement.set] });
      }
      case 'counter':
        return go(flow);
      case 'reject':
        return [{ flow, verdict: 'reject' }];
      case 'masquerade':
        return [{ flow: { ...flow, masqueraded: true }, verdict: 'accept' }];
      case 'verdict':
        return this.#verdict(statement.verdict, flow);
      case 'vmap':
        return this.#verdictMap(statement, flow);
      case 'dnat':
        return this.#dnat(statement, flow);
      case 'unknown':
        throw new Error(`the tracer does not know ${statement.name}`);
    }
  }

  #verdict(verdict: Verdict, flow: Flow): Branch[] {
    if (verdict === 'continue') return [{ flow, verdict: 'next' }];
    if (verdict.startsWith('goto ')) return this.chain(verdict.slice(5), flow);
    if (!verdict.startsWith('jump ')) return [{ flow, verdict: verdict as 'accept' | 'drop' | 'return' }];
    return this.chain(verdict.slice(5), flow).map((branch) =>
      branch.verdict === 'return' ? { ...branch, verdict: 'next' } : branch,
    );
  }

  #verdictMap({ key, map }: VmapStatement, flow: Flow): Branch[] {
    const written = 'set' in map ? undefined : new Map(map.verdicts.map(([k, v]) => [keyText(key, [k]), v]));
    return this.#ways(key, flow).flatMap((way) => {
      const verdict =
        'set' in map
          ? this.#lookUp(map.set, way.key, (row, { rows }) => rows!.verdicts![row]!)
          : written!.get(way.key);
      return verdict === undefined
        ? [{ flow: way.flow, verdict: 'next' as const }]
        : this.#verdict(verdict, way.flow);
    });
  }

  #dnat({ to }: DnatStatement, flow: Flow): Branch[] {
    const translate = (one: Flow, [daddr, dport]: readonly [string, (number | undefined)?]): Branch => ({
      flow: { ...one, daddr, dport: dport ?? one.dport, translated: true },
      verdict: 'accept',
    });
    if ('address' in to) return [translate(flow, [to.address, to.port])];
    const { key, map } = to;
    const written =
      'set' in map
        ? undefined
        : new Map(map.addresses.map(([k, ...target]) => [keyText(key, [k]), target] as const));
    return this.#ways(key, flow).map((way) => {
      const target =
        'set' in map
          ? this.#lookUp(map.set, way.key, (row, { set, rows }) => {
              const [type] = layoutTypes(set.kind === 'map' && set.data !== 'verdict' ? set.data : set.key);
              const data = rows!.data(row);
              const address = formatValue(type!, data);
              return [address, data.readUInt16BE(DATA_TYPES[type!].length)] as const;
            })
          : written!.get(way.key);
      return target === undefined ? { flow: way.flow, verdict: 'next' } : translate(way.flow, target);
    });
  }

  /** All keys that the selectors can load, each with its part of the flow; more than one where they draw lots. */
  #ways(selectors: readonly Selector[], flow: Flow): { readonly key: string; readonly flow: Flow }[] {
    const draw = selectors.find((selector) => selector.kind === 'numgen');
    if (draw === undefined) return [{ key: this.#key(selectors, flow, 0), flow }];
    const share = flow.share / draw.mod;
    return Array.from({ length: draw.mod }, (_, drawn) => ({
      key: this.#key(selectors, flow, drawn + (draw.offset ?? 0)),
      flow: { ...flow, share },
    }));
  }

  #key(selectors: readonly Selector[], flow: Flow, drawn: number): string {
    return keyText(
      selectors,
      selectors.map((selector) => (selector.kind === 'numgen' ? drawn : this.#field(selector, flow))),
    );
  }

  #lookUp<Found>(
    name: string,
    key: string,
    found: (row: number, of: SetListing) => Found,
  ): Found | undefined {
    const listed = this.#listing.sets.get(name);
    if (listed === undefined) throw new Error(`there is no set ${name}`);
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = indexRows(listed);
      this.#indexes.set(name, index);
    }
    const row = index.get(key);
    return row === undefined ? undefined : found(row, listed);
  }

  #matches(match: MatchStatement, flow: Flow): boolean {
    const { left, right, op } = match;
    return this.#holds(match, left, right, flow) === (op === '==');
  }

  #holds(
    match: MatchStatement,
    left: readonly Selector[],
    right: MatchStatement['right'],
    flow: Flow,
  ): boolean {
    if (typeof right === 'object' && 'set' in right) {
      const values = left.map((selector) => this.#field(selector, flow));
      if (this.#node.remembered?.get(right.set)?.has(values.join(' ')) === true) return true;
      return this.#lookUp(right.set, keyText(left, values), () => true) ?? false;
    }
    const value = this.#field(left[0]!, flow);
    const constants = typeof right === 'object' ? right.values : [right];
    return constants.some((constant) => equalsConstant(match, value, constant));
  }

  #field(selector: Selector, flow: Flow): FieldValue {
    const { from, protocol } = this.#packet;
    const text = selectorText(selector);
    switch (text) {
      case 'ip saddr':
      case 'ip6 saddr':
        return from;
      case 'ip daddr':
      case 'ip6 daddr':
        return flow.daddr;
      case 'th dport':
        return flow.dport;
      case 'meta l4proto':
        return protocol === 'icmp' && this.#listing.family === 'ip6' ? 'ipv6-icmp' : protocol;
      case 'meta mark':
        return flow.mark;
      case 'iifname':
        return this.#packet.interface ?? 'unknown';
      case 'fib saddr type':
        return this.isLocal(from) ? 'local' : 'unicast';
      case 'fib daddr type':
        return this.isLocal(flow.daddr) ? 'local' : 'unicast';
      case 'ct state':
        return 'new';
      case 'ct status':
        return flow.translated ? 'dnat' : 0;
      default:
        throw new Error(`the tracer does not know ${text}`);
    }
  }

  /** Whether an address is this node's own. */
  isLocal(ip: string): boolean {
    return isLoopback(ip) || this.#node.localAddresses.has(ip);
  }
}

function changeMark(mark: number, { op, value }: Extract<Statement, { kind: 'mark' }>): number {
  if (op === 'set') return value;
  return (op === 'or' ? mark | value : op === 'and' ? mark & value : mark ^ value) >>> 0;
}

/** Flows that are alike become one: the draws of a balancing chain would multiply otherwise. */
export function merge(flows: readonly Flow[]): Flow[] {
  const merged = new Map<string, Flow>();
  for (const flow of flows) {
    const { share, ...rest } = flow;
    const key = JSON.stringify(rest);
    const same = merged.get(key);
    merged.set(key, same === undefined ? flow : { ...same, share: same.share + share });
  }
  return [...merged.values()];
}
