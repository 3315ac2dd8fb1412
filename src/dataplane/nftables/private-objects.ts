import { cidrContains, formatCidr } from '../../base/ip.ts';
import type { Chain, NftSet, Rule } from '../../kernel/nftables/objects.ts';
import { metaL4proto, numgenRandom, saddr } from '../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../kernel/nftables/statement/statement.ts';
import type { Verdict } from '../../kernel/nftables/verdict.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import {
  isExternallyAccessible,
  usesClusterEndpoints,
  usesLocalEndpoints,
} from '../../model/service-port.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import type { ServicePortPlan } from '../../plan/proxy-plan.ts';
import { goto, markForMasquerade, nftFamily } from './family-terms.ts';
import { endpointBase, servicePortBase } from './private-names.ts';
import { externalLocalRules } from './treatment-rules.ts';

/** Objects that one ServicePort has for itself: a few need them, most have none. */
export interface PrivateObjects {
  readonly sets: readonly NftSet[];
  readonly chains: readonly Chain[];
  /** All rules of these chains, in order. */
  readonly rules: readonly Rule[];
}

/** Whether this ServicePort balances in chains of its own, because clients stay with their endpoint (spec A11). */
export function hasAffinity(plan: ServicePortPlan): boolean {
  return plan.servicePort.affinityTimeoutSeconds > 0;
}

/** Whether the load-balancer addresses of this ServicePort are open to some clients only (spec A12). */
export function hasFirewall(plan: ServicePortPlan): boolean {
  return (
    plan.servicePort.loadBalancerSourceRanges.length > 0 &&
    plan.frontends.some((frontend) => frontend.kind === 'LoadBalancerIP')
  );
}

/** The private objects of a ServicePort (spec A8, A10, A12), or `undefined` where it has none. */
export function privateObjects(plan: ServicePortPlan, settings: PlanSettings): PrivateObjects | undefined {
  if (!hasAffinity(plan) && !hasFirewall(plan)) return undefined;
  const builder = new Builder(plan, settings);
  if (hasAffinity(plan)) builder.addAffinity();
  if (hasFirewall(plan)) builder.addFirewall();
  return builder;
}

class Builder implements PrivateObjects {
  readonly sets: NftSet[] = [];
  readonly chains: Chain[] = [];
  readonly rules: Rule[] = [];
  readonly #plan: ServicePortPlan;
  readonly #settings: PlanSettings;
  readonly #base: string;

  constructor(plan: ServicePortPlan, settings: PlanSettings) {
    this.#plan = plan;
    this.#settings = settings;
    this.#base = servicePortBase(plan.servicePort);
  }

  addAffinity(): void {
    const { servicePort, cluster, local } = this.#plan;
    for (const endpoint of this.#plan.allReachable) this.#addEndpoint(endpoint);
    const hasCluster = cluster.length > 0 && usesClusterEndpoints(servicePort);
    const hasLocal = local.length > 0 && usesLocalEndpoints(servicePort);
    if (hasCluster) this.#addBalancing(`service-${this.#base}`, cluster);
    if (hasLocal) this.#addBalancing(`local-${this.#base}`, local);
    if (this.#plan.hasAnyEndpoints && isExternallyAccessible(servicePort))
      this.#addExternal(hasCluster, hasLocal);
  }

  addFirewall(): void {
    const { servicePort, frontends } = this.#plan;
    const ranges = servicePort.loadBalancerSourceRanges;
    const allowed = ranges.map(formatCidr);
    // A node that may use the address may also have it: then the address itself is the source (spec A12).
    if (ranges.some((range) => cidrContains(range, this.#settings.nodeIP))) {
      for (const frontend of frontends) if (frontend.kind === 'LoadBalancerIP') allowed.push(frontend.ip);
    }
    const source = saddr(nftFamily(this.#settings.family));
    this.#chain(`firewall-${this.#base}`, [
      [
        { kind: 'match', left: [source], op: '!=', right: { values: allowed } },
        { kind: 'verdict', verdict: 'drop' },
      ],
    ]);
  }

  #addEndpoint(endpoint: Endpoint): void {
    const family = nftFamily(this.#settings.family);
    const { servicePort } = this.#plan;
    const base = endpointBase(servicePort, endpoint);
    const timeoutMs = servicePort.affinityTimeoutSeconds * 1000;
    this.sets.push({
      kind: 'set',
      name: `affinity-${base}`,
      key: { type: [family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'] },
      flags: ['dynamic', 'timeout'],
      timeoutMs,
    });
    this.#chain(`endpoint-${base}`, [
      // A rule of its own: when the set is full the client goes unremembered, not unserved.
      // With the time-out in it, because kernels before 6.2 leave that of a set as it was declared first.
      [{ kind: 'update', op: 'update', set: `affinity-${base}`, key: [saddr(family)], timeoutMs }],
      [
        { kind: 'match', left: [metaL4proto], op: '==', right: servicePort.protocol.toLowerCase() },
        { kind: 'dnat', to: { address: endpoint.ip, port: endpoint.port } },
      ],
    ]);
  }

  #addBalancing(chain: string, endpoints: readonly Endpoint[]): void {
    const source = saddr(nftFamily(this.#settings.family));
    const bases = endpoints.map((endpoint) => endpointBase(this.#plan.servicePort, endpoint));
    const bodies: Statement[][] = bases.map((base) => [
      { kind: 'match', left: [source], op: '==', right: { set: `affinity-${base}` } },
      goto(`endpoint-${base}`),
    ]);
    const verdicts = bases.map((base, index): [number, Verdict] => [index, `goto endpoint-${base}`]);
    bodies.push([{ kind: 'vmap', key: [numgenRandom(endpoints.length)], map: { verdicts } }]);
    this.#chain(chain, bodies);
  }

  #addExternal(hasCluster: boolean, hasLocal: boolean): void {
    const chain = `external-${this.#base}`;
    const service = `service-${this.#base}`;
    if (!this.#plan.servicePort.externalPolicyLocal) {
      this.chains.push({ kind: 'chain', name: chain });
      this.#rule(chain, [markForMasquerade(this.#settings.masqueradeMark)], 'masquerade');
      if (hasCluster) this.#rule(chain, [goto(service)]);
      return;
    }
    this.chains.push({ kind: 'chain', name: chain });
    const rules = externalLocalRules(service, hasLocal ? `local-${this.#base}` : undefined, this.#settings);
    for (const { statements, comment } of rules) this.#rule(chain, statements, comment);
  }

  #chain(name: string, bodies: readonly (readonly Statement[])[]): void {
    this.chains.push({ kind: 'chain', name });
    for (const statements of bodies) this.#rule(name, statements);
  }

  #rule(chain: string, statements: readonly Statement[], comment?: string): void {
    this.rules.push({ kind: 'rule', chain, statements, ...(comment === undefined ? {} : { comment }) });
  }
}
