import { isLoopback } from '../../base/ip.ts';
import { layoutTypes } from '../../kernel/nftables/layout.ts';
import type { BaseChain, Chain, NftMap, NftSet } from '../../kernel/nftables/objects.ts';
import { PackedElements } from '../../kernel/nftables/packed-elements.ts';
import type { TableNames } from '../../kernel/nftables/table-names.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import type { ProxyPlan } from '../../plan/proxy-plan.ts';
import { ElementTable } from './element-table.ts';
import type { NftFamily } from './family-terms.ts';
import { type SetName, TABLE, TABLE_COMMENT } from './names.ts';
import type { ProgrammedState } from './nftables-proxier.ts';
import { isAffinitySet } from './private-names.ts';
import { type PrivateObjects, privateObjects } from './private-objects.ts';
import { type ElementSink, visitElements } from './service-elements.ts';
import { nodePortIPs } from './sets.ts';
import { clusterIPKey, hairpinKey, SharedElements, visitShared } from './shared-elements.ts';
import { staticRuleset } from './static-rules.ts';
import { roomFor } from './table-size.ts';
import { balance, type Treatment, treatmentOfChain, withTargets } from './treatment.ts';
import { treatmentRules } from './treatment-rules.ts';

export interface FullSync {
  readonly transaction: Transaction;
  /** What the kernel will hold. */
  readonly state: ProgrammedState;
  /** Chains that were there and are not wanted; they have lost their rules and can be deleted afterwards. */
  readonly leftovers: readonly string[];
}

/**
 * One transaction that turns whatever the table holds into the plan. Base chains stay hooked in throughout, so there
 * is no moment at which a packet finds no rules: the kernel switches from the old rules of a chain to the new ones.
 * Sets that remember clients are kept with what they hold; all others are declared and filled anew.
 */
export function buildFullSync(
  plan: ProxyPlan,
  family: NftFamily,
  sets: ReadonlyMap<SetName, NftSet | NftMap>,
  existing: TableNames | undefined,
): FullSync {
  const { settings } = plan;
  const content = collect(plan, sets);
  const nodePorts = nodePortSet(settings, family);
  const statics = staticRuleset(settings);
  const privates: PrivateObjects[] = [];
  for (const servicePort of plan.servicePorts.values()) {
    const objects = privateObjects(servicePort, settings);
    if (objects !== undefined) privates.push(objects);
  }
  const privateSets = privates.flatMap((objects) => objects.sets);
  const treatments = content.treatments.toSorted((a, b) => (a.chain < b.chain ? -1 : 1));
  const chains: readonly Chain[] = [
    ...statics.chains,
    ...treatments.map((treatment) => ({ kind: 'chain' as const, name: treatment.chain })),
    ...privates.flatMap((objects) => objects.chains),
  ];

  const transaction = new Transaction(family, TABLE).add({ kind: 'table', comment: TABLE_COMMENT });
  if (existing !== undefined) {
    transaction.flush({ kind: 'table' });
    const kept = new Map(privateSets.map((set) => [set.name, set]));
    for (const set of existing.sets) {
      if (!isAffinitySet(set.name) || !isSameSet(set, kept.get(set.name))) transaction.delete(set);
    }
    const there = new Set(existing.chains);
    for (const chain of chains) {
      // The kernel does not move base chains, nor make others of them.
      if (there.has(chain.name) && !isSameHook(existing.baseChains.get(chain.name), chain.base))
        transaction.delete(chain);
    }
  }
  for (const chain of chains) transaction.add(chain);
  const fill: ProgrammedState['fill'] = new Map();
  const sized = new Map<SetName, NftSet | NftMap>();
  for (const [name, set] of sets) {
    const count = content.elements.rows.get(name)?.count ?? 0;
    const room = roomFor(count);
    fill.set(name, { count, room });
    sized.set(name, { ...set, size: room });
    transaction.add(sized.get(name)!);
  }
  if (nodePorts !== undefined) transaction.add(nodePorts.set);
  for (const set of privateSets) transaction.add(set);
  // Rules come before elements: for each rule that looks a map up the kernel walks what the map holds by then.
  for (const rule of statics.rules) transaction.add(rule);
  for (const treatment of treatments)
    for (const rule of treatmentRules(treatment, settings)) transaction.add(rule);
  for (const objects of privates) for (const rule of objects.rules) transaction.add(rule);
  for (const [name, rows] of content.elements.rows)
    transaction.add({ kind: 'elements', of: sized.get(name)!, rows });
  if (nodePorts !== undefined) transaction.add({ kind: 'elements', of: nodePorts.set, rows: nodePorts.rows });

  const wanted = new Set(chains.map((chain) => chain.name));
  const leftovers = existing?.chains.filter((name) => !wanted.has(name)) ?? [];
  const state: ProgrammedState = {
    shared: content.shared,
    chainUse: content.chainUse,
    treatmentChains: new Set(treatments.map((treatment) => treatment.chain)),
    fill,
    stale: new Map(),
  };
  return { transaction, state, leftovers };
}

/**
 * Chains that are there whether or not a Service needs them: a rule that is added to look up a map with 100,000 elements
 * costs the kernel some 15 ms, so the usual numbers of endpoints must not wait for theirs.
 */
const permanentTreatments: readonly Treatment[] = [1, 2, 4, 8, 16, 32, 64].map((slots) =>
  balance('service', 'cluster', slots),
);

function collect(plan: ProxyPlan, sets: ReadonlyMap<SetName, NftSet | NftMap>) {
  const elements = new ElementTable(sets);
  const shared = new SharedElements();
  const chainUse = new Map<string, number>();
  const use = (treatment: Treatment) => {
    for (const { chain } of withTargets(treatment)) chainUse.set(chain, (chainUse.get(chain) ?? 0) + 1);
  };
  for (const treatment of permanentTreatments) use(treatment);
  const sink: ElementSink = {
    clusterIP: (ip) => void shared.change(clusterIPKey(ip), 1),
    hairpin: (ip, protocol, port) => void shared.change(hairpinKey(ip, protocol, port), 1),
    endpoint: (map, ip, protocol, port, slot, target) =>
      elements.endpoint(map, ip, protocol, port, slot, target),
    verdict(map, ip, protocol, port, verdict, comment) {
      elements.verdict(map, ip, protocol, port, verdict, comment);
      const treatment = treatmentOfChain(verdict.slice('goto '.length));
      if (treatment !== undefined) use(treatment);
    },
  };
  for (const servicePort of plan.servicePorts.values()) visitElements(servicePort, sink);
  for (const key of shared.keys) visitShared(key, elements);
  const treatments = [...chainUse.keys()].map((chain): Treatment => treatmentOfChain(chain)!);
  return { elements, shared, chainUse, treatments };
}

/** Whether a set can stay as it is: the kernel changes its timeout, nothing else. */
function isSameSet(declared: NftSet | NftMap, wanted: NftSet | undefined): boolean {
  const flags = (set: NftSet | NftMap) => [...(set.flags ?? [])].sort().join();
  return (
    wanted !== undefined &&
    declared.kind === wanted.kind &&
    layoutTypes(declared.key).join() === layoutTypes(wanted.key).join() &&
    flags(declared) === flags(wanted)
  );
}

function isSameHook(a: BaseChain | undefined, b: BaseChain | undefined): boolean {
  return a?.type === b?.type && a?.hook === b?.hook && a?.priority === b?.priority;
}

function nodePortSet(
  settings: PlanSettings,
  family: NftFamily,
): { set: NftSet; rows: PackedElements } | undefined {
  if (settings.nodePortAddresses === 'all') return undefined;
  const set = nodePortIPs(family);
  const rows = PackedElements.for(set);
  // Node ports never answer on loopback addresses in this mode (spec A13).
  for (const ip of settings.nodePortAddresses) if (!isLoopback(ip)) rows.begin().address(ip);
  return { set, rows };
}
