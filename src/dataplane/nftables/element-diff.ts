import type { Verdict } from '../../kernel/nftables/verdict.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { Protocol } from '../../model/service-port.ts';
import type { PlanDiff } from '../../plan/proxy-plan.ts';
import type { SetName } from './names.ts';
import {
  type ElementSink,
  type EndpointMap,
  type ServiceVerdictMap,
  visitElements,
} from './service-elements.ts';
import { clusterIPKey, hairpinKey } from './shared-elements.ts';

/** An element of a set that one ServicePort has for itself. */
interface OwnElement {
  readonly set: SetName;
  /** What the element holds besides its key; equal text means nothing is to be done. */
  readonly value: string;
  readonly emit: (sink: ElementSink) => void;
}

/** What changes in the named sets from one plan to the next. */
export interface ElementDiff {
  /** Elements to delete, then elements to add; an element with another value is in both. */
  readonly deleted: readonly ((sink: ElementSink) => void)[];
  readonly added: readonly ((sink: ElementSink) => void)[];
  /** Change in the number of users of each shared element. */
  readonly shared: ReadonlyMap<string, number>;
  /** Change in the number of elements that lead to each chain. */
  readonly chainUse: ReadonlyMap<string, number>;
}

/** Compares what the touched ServicePorts needed with what they need now. Cost follows the size of the diff. */
export function diffElements(diff: PlanDiff): ElementDiff {
  const before = new Collector();
  const after = new Collector();
  for (const change of diff) {
    if (change.before !== undefined) visitElements(change.before, before);
    if (change.after !== undefined) visitElements(change.after, after);
  }
  const deleted: OwnElement['emit'][] = [];
  const added: OwnElement['emit'][] = [];
  for (const [key, element] of before.own) {
    if (after.own.get(key)?.value !== element.value) deleted.push(element.emit);
  }
  for (const [key, element] of after.own) {
    if (before.own.get(key)?.value !== element.value) added.push(element.emit);
  }
  return {
    deleted,
    added,
    shared: difference(before.shared, after.shared),
    chainUse: difference(before.chains, after.chains),
  };
}

function difference(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Map<string, number> {
  const changes = new Map(after);
  for (const [key, count] of before) changes.set(key, (changes.get(key) ?? 0) - count);
  for (const [key, count] of changes) if (count === 0) changes.delete(key);
  return changes;
}

class Collector implements ElementSink {
  readonly own = new Map<string, OwnElement>();
  readonly shared = new Map<string, number>();
  readonly chains = new Map<string, number>();

  clusterIP(ip: string): void {
    count(this.shared, clusterIPKey(ip));
  }

  hairpin(ip: string, protocol: Protocol, port: number): void {
    count(this.shared, hairpinKey(ip, protocol, port));
  }

  verdict(
    set: ServiceVerdictMap,
    ip: string,
    protocol: Protocol,
    port: number,
    verdict: Verdict,
    comment: string,
  ): void {
    if (verdict.startsWith('goto ')) count(this.chains, verdict.slice(5));
    this.own.set(`${set} ${ip} ${protocol} ${port}`, {
      set,
      value: `${verdict} ${comment}`,
      emit: (sink) => sink.verdict(set, ip, protocol, port, verdict, comment),
    });
  }

  endpoint(
    set: EndpointMap,
    ip: string,
    protocol: Protocol,
    port: number,
    slot: number,
    target: Endpoint,
  ): void {
    this.own.set(`${set} ${ip} ${protocol} ${port} ${slot}`, {
      set,
      value: `${target.ip} ${target.port}`,
      emit: (sink) => sink.endpoint(set, ip, protocol, port, slot, target),
    });
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
