import type { Verdict } from '../../kernel/nftables/verdict.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { type Protocol, printableName } from '../../model/service-port.ts';
import {
  type Frontend,
  type FrontendVerdict,
  frontendVerdict,
  type ServicePortPlan,
} from '../../plan/proxy-plan.ts';
import { CHAINS, SETS } from './names.ts';
import { servicePortBase } from './private-names.ts';
import { hasAffinity, hasFirewall } from './private-objects.ts';
import { slotsFor } from './slots.ts';
import { balance, external, externalLocal, type FrontendScope } from './treatment.ts';

export type ServiceVerdictMap =
  | typeof SETS.serviceIPs
  | typeof SETS.noEndpointServices
  | typeof SETS.firewallIPs
  | typeof SETS.serviceNodePorts
  | typeof SETS.noEndpointNodePorts;

export type EndpointMap =
  | typeof SETS.clusterEndpoints
  | typeof SETS.localEndpoints
  | typeof SETS.nodePortClusterEndpoints
  | typeof SETS.nodePortLocalEndpoints;

/**
 * Receives the elements that one ServicePort needs in the named sets. Plain arguments, because a full sync passes
 * hundreds of thousands. `ip` is `''` in the maps that are keyed by node port.
 */
export interface ElementSink {
  /** An active ClusterIP; ports of one Service share it. */
  clusterIP(ip: string): void;
  /** A local endpoint that may reach itself through a Service; Services with the same pods share it. */
  hairpin(ip: string, protocol: Protocol, port: number): void;
  verdict(
    map: ServiceVerdictMap,
    ip: string,
    protocol: Protocol,
    port: number,
    verdict: Verdict,
    comment: string,
  ): void;
  endpoint(
    map: EndpointMap,
    ip: string,
    protocol: Protocol,
    port: number,
    slot: number,
    target: Endpoint,
  ): void;
}

/** Passes on all elements of a ServicePort, each once (spec A9; slots.ts for the endpoints). */
export function visitElements(plan: ServicePortPlan, sink: ElementSink): void {
  const { servicePort } = plan;
  sink.clusterIP(servicePort.clusterIP);
  for (const endpoint of plan.allReachable) {
    if (endpoint.isLocal) sink.hairpin(endpoint.ip, servicePort.protocol, endpoint.port);
  }
  for (const frontend of plan.frontends) visitFrontend(plan, frontend, sink);
}

function visitFrontend(plan: ServicePortPlan, frontend: Frontend, sink: ElementSink): void {
  const { servicePort } = plan;
  const { protocol } = servicePort;
  const ip = frontend.kind === 'NodePort' ? '' : frontend.ip;
  const comment = printableName(servicePort);
  const verdict = frontendVerdict(plan, frontend.kind);
  const isExternal = frontend.kind !== 'ClusterIP';
  // A Local frontend without a local endpoint still serves this node's own pods and processes; what they do not
  // claim reaches the filter hooks untranslated, and is dropped there.
  if (verdict === 'forward' || (verdict === 'drop' && isExternal)) {
    const map = isExternal && ip === '' ? SETS.serviceNodePorts : SETS.serviceIPs;
    sink.verdict(map, ip, protocol, frontend.port, `goto ${entryChain(plan, frontend.kind)}`, comment);
    if (!hasAffinity(plan)) visitEndpoints(plan, frontend, sink);
  }
  if (verdict !== 'forward') {
    const map = ip === '' ? SETS.noEndpointNodePorts : SETS.noEndpointServices;
    sink.verdict(map, ip, protocol, frontend.port, refusal(verdict), comment);
  }
  if (frontend.kind === 'LoadBalancerIP' && hasFirewall(plan)) {
    const chain = `firewall-${servicePortBase(servicePort)}`;
    sink.verdict(SETS.firewallIPs, ip, protocol, frontend.port, `goto ${chain}`, comment);
  }
}

/** The chain that new connections to a frontend go to. */
function entryChain(plan: ServicePortPlan, kind: Frontend['kind']): string {
  const { internalPolicyLocal, externalPolicyLocal } = plan.servicePort;
  if (hasAffinity(plan)) {
    const target = kind !== 'ClusterIP' ? 'external' : internalPolicyLocal ? 'local' : 'service';
    return `${target}-${servicePortBase(plan.servicePort)}`;
  }
  const scope: FrontendScope = kind === 'NodePort' ? 'nodeport' : 'service';
  const clusterSlots = slotsFor(plan.cluster.length);
  const localSlots = plan.local.length === 0 ? 0 : slotsFor(plan.local.length);
  if (kind === 'ClusterIP') {
    return internalPolicyLocal
      ? balance(scope, 'local', localSlots).chain
      : balance(scope, 'cluster', clusterSlots).chain;
  }
  return externalPolicyLocal
    ? externalLocal(scope, clusterSlots, localSlots).chain
    : external(scope, clusterSlots).chain;
}

function visitEndpoints(plan: ServicePortPlan, frontend: Frontend, sink: ElementSink): void {
  const { internalPolicyLocal, externalPolicyLocal } = plan.servicePort;
  const isNodePort = frontend.kind === 'NodePort';
  const usesLocal = frontend.kind === 'ClusterIP' ? internalPolicyLocal : externalPolicyLocal;
  const usesCluster = frontend.kind !== 'ClusterIP' || !internalPolicyLocal;
  if (usesCluster) {
    visitSlots(
      isNodePort ? SETS.nodePortClusterEndpoints : SETS.clusterEndpoints,
      plan,
      frontend,
      plan.cluster,
      sink,
    );
  }
  if (usesLocal) {
    visitSlots(
      isNodePort ? SETS.nodePortLocalEndpoints : SETS.localEndpoints,
      plan,
      frontend,
      plan.local,
      sink,
    );
  }
}

function visitSlots(
  map: EndpointMap,
  plan: ServicePortPlan,
  frontend: Frontend,
  endpoints: readonly Endpoint[],
  sink: ElementSink,
): void {
  const ip = frontend.kind === 'NodePort' ? '' : frontend.ip;
  const { protocol } = plan.servicePort;
  for (let slot = 0; slot < endpoints.length; slot++) {
    sink.endpoint(map, ip, protocol, frontend.port, slot, endpoints[slot]!);
  }
}

function refusal(verdict: Exclude<FrontendVerdict, 'forward'>): Verdict {
  return verdict === 'drop' ? 'drop' : `goto ${CHAINS.reject}`;
}
