import { joinHostPort } from '../../../base/ip.ts';
import type { BaseChain } from '../../../kernel/nftables/objects.ts';
import type { TableListing } from '../../../kernel/nftables/table-listing.ts';
import { ChainWalk, type Flow, merge } from './chain-walk.ts';

/** The first packet of a connection. It is sent by this node where `from` is one of the node's addresses. */
export interface TracedPacket {
  readonly from: string;
  readonly to: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp' | 'icmp';
  /** Of the destination; 0 where the protocol has none. */
  readonly port: number;
  /** The interface it comes in by. */
  readonly interface?: string;
}

export interface TracedNode {
  /** What `fib … type local` finds besides loopback addresses. */
  readonly localAddresses: ReadonlySet<string>;
  /** Clients that rules have added to sets, by the name of the set, besides the elements of the listing. */
  readonly remembered?: ReadonlyMap<string, ReadonlySet<string>>;
}

/** One way a connection can go. */
export interface TracedOutcome {
  /** `pass`: no rule had anything against it, translated or not. */
  readonly verdict: 'pass' | 'drop' | 'reject';
  /** `ip:port` that the packet goes to when it leaves our chains. */
  readonly destination: string;
  readonly translated: boolean;
  readonly masqueraded: boolean;
  /** Sets that remember the client from now on. */
  readonly remembers: readonly string[];
  /** Its chance; the chances of all outcomes add up to 1. */
  readonly share: number;
}

/**
 * Follows a packet through one table in the way the kernel does: base chains of each hook it passes by priority, jumps,
 * gotos and verdict maps, source and destination NAT once for the connection. Random numbers split it into all ways it
 * can go. Throws for whatever it does not know.
 */
export function tracePacket(
  listing: TableListing,
  packet: TracedPacket,
  node: TracedNode,
): readonly TracedOutcome[] {
  const tracer = new Tracer(listing, packet, node);
  return tracer.run();
}

/** A packet written as `from -> to:port`, with `/udp` or another protocol behind it where it is not TCP. */
export function packetOf(flow: string): TracedPacket {
  const [, from, to, port, protocol = 'tcp'] =
    /^(\S+) -> \[?([^\s\]]+?)\]?:(\d+)(?:\/(\w+))?$/.exec(flow) ?? [];
  return { from: from!, to: to!, port: Number(port), protocol: protocol as TracedPacket['protocol'] };
}

/** Outcomes in short: `10.0.0.1:80, 10.0.0.2:80 masqueraded`, `reject`, `drop`, `pass`; alternatives joined by ` | `. */
export function outcomeText(outcomes: readonly TracedOutcome[]): string {
  const groups = new Map<string, string[]>();
  for (const { verdict, translated, masqueraded, destination } of outcomes) {
    const suffix = masqueraded && verdict === 'pass' ? ' masqueraded' : '';
    const group = verdict === 'pass' && translated ? `to${suffix}` : `${verdict}${suffix}`;
    const list = groups.get(group) ?? [];
    if (!list.includes(destination)) list.push(destination);
    groups.set(group, list);
  }
  const texts = [...groups].map(([group, destinations]) =>
    group.startsWith('to') ? `${destinations.sort().join(', ')}${group.slice(2)}` : group,
  );
  return texts.sort().join(' | ');
}

type Hook = BaseChain['hook'];

class Tracer {
  readonly #listing: TableListing;
  readonly #packet: TracedPacket;
  readonly #walk: ChainWalk;
  readonly #refused: TracedOutcome[] = [];

  constructor(listing: TableListing, packet: TracedPacket, node: TracedNode) {
    this.#listing = listing;
    this.#packet = packet;
    this.#walk = new ChainWalk(listing, packet, node);
  }

  run(): readonly TracedOutcome[] {
    const { from, to, port } = this.#packet;
    const start: Flow = {
      daddr: to,
      dport: port,
      mark: 0,
      translated: false,
      masqueraded: false,
      remembers: [],
      share: 1,
    };
    const passed: Flow[] = [];
    if (this.#walk.isLocal(from)) {
      for (const flow of this.#hook('postrouting', this.#hook('output', [start]))) {
        // What a node sends to itself comes in by loopback, where its connection has been translated already.
        if (this.#walk.isLocal(flow.daddr))
          passed.push(...this.#hook('input', this.#hook('prerouting', [flow], 'filter')));
        else passed.push(flow);
      }
    } else {
      for (const flow of this.#hook('prerouting', [start])) {
        if (this.#walk.isLocal(flow.daddr)) passed.push(...this.#hook('input', [flow]));
        else passed.push(...this.#hook('postrouting', this.#hook('forward', [flow])));
      }
    }
    return [...merge(passed).map((flow) => outcome(flow, 'pass')), ...this.#refused];
  }

  /** Flows that come through all base chains of a hook. */
  #hook(hook: Hook, flows: readonly Flow[], only?: BaseChain['type']): Flow[] {
    const chains = [...this.#listing.chains.values()]
      .map(({ chain }) => chain)
      .filter(({ base }) => base?.hook === hook && (only === undefined || base.type === only))
      .sort((a, b) => a.base!.priority - b.base!.priority);
    let live = [...flows];
    for (const { name, base } of chains) {
      const next: Flow[] = [];
      for (const flow of live) {
        for (const branch of this.#walk.chain(name, flow)) {
          const verdict = branch.verdict === 'return' ? (base!.policy ?? 'accept') : branch.verdict;
          if (verdict === 'accept') next.push(branch.flow);
          else this.#refused.push(outcome(branch.flow, verdict === 'reject' ? 'reject' : 'drop'));
        }
      }
      live = merge(next);
    }
    return live;
  }
}

function outcome(flow: Flow, verdict: TracedOutcome['verdict']): TracedOutcome {
  const { daddr, dport, translated, masqueraded, remembers, share } = flow;
  return { verdict, destination: joinHostPort(daddr, dport), translated, masqueraded, remembers, share };
}
