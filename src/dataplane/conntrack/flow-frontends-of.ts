import { isLoopback } from '../../base/ip.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { Protocol } from '../../model/service-port.ts';
import type { Frontend, PlanDiff, ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { type FlowFrontend, FlowFrontends, type FlowServicePort } from './flow-frontends.ts';

/** Datagrams are flows of UDP, connections those of TCP and SCTP. */
export type FlowKind = 'datagrams' | 'connections';

export interface FlowFrontendsOptions {
  /**
   * All that led to the plan since flows of this kind were last looked at: frontends that it took away count as
   * removed. Connections are looked for at the ServicePorts in it alone.
   */
  readonly changes: PlanDiff;
  /** Addresses of the node, for node ports that are served on all of them. */
  readonly localAddresses: readonly string[];
}

/**
 * The frontends to find stale flows with, once the plan is in the kernel: for datagrams all of the plan, as upstream
 * has it (spec A.4.2), for connections those that changed.
 */
export function flowFrontendsOf(
  plan: ProxyPlan,
  kind: FlowKind,
  options: FlowFrontendsOptions,
): FlowFrontends {
  const { family, nodePortAddresses, localhostNodePorts } = plan.settings;
  const onLoopback = localhostNodePorts && family === 'IPv4';
  const served = (ips: readonly string[]) => ips.filter((ip) => onLoopback || !isLoopback(ip));
  const changes = options.changes.filter((change) => kindOf(servicePortOf(change)) === kind);
  const ports = kind === 'datagrams' ? plan.servicePorts.values() : changedServicePorts(plan, changes);
  return new FlowFrontends({
    family,
    servicePorts: flowServicePorts(ports, kind),
    // Those that are still in the plan are judged by it, whoever owns them now.
    removed: changes.flatMap(({ before }) => (before === undefined ? [] : [frontendsOf(before)])),
    ...(nodePortAddresses === 'all'
      ? { localAddresses: served(options.localAddresses) }
      : { nodePortAddresses: served(nodePortAddresses) }),
  });
}

/**
 * Whether a change can have made flows of a kind stale: a ServicePort got its first endpoint or lost one, or its
 * frontends are others.
 */
export function mayHaveStaleFlows(changes: PlanDiff, kind: FlowKind): boolean {
  return changes.some((change) => kindOf(servicePortOf(change)) === kind && canMakeStale(change));
}

function canMakeStale({ before, after }: PlanDiff[number]): boolean {
  const one = before === undefined ? [] : usable(before.endpoints);
  const other = after === undefined ? [] : usable(after.endpoints);
  if (before === undefined || after === undefined || !sameFrontends(before, after))
    return one.length > 0 || other.length > 0;
  if (one.length === 0) return other.length > 0;
  const left = new Set(one.map(({ ip, port }) => `${ip} ${port}`));
  for (const { ip, port } of other) left.delete(`${ip} ${port}`);
  return left.size > 0;
}

function sameFrontends(before: ServicePortPlan, after: ServicePortPlan): boolean {
  const { frontends } = after;
  return (
    before.frontends.length === frontends.length &&
    before.frontends.every((frontend, i) => frontendKey(frontend) === frontendKey(frontends[i]!))
  );
}

function* changedServicePorts(plan: ProxyPlan, changes: PlanDiff): Generator<ServicePortPlan> {
  for (const key of new Set(changes.map((change) => servicePortOf(change).key))) {
    const port = plan.servicePorts.get(key);
    if (port !== undefined) yield port;
  }
}

function* flowServicePorts(ports: Iterable<ServicePortPlan>, kind: FlowKind): Generator<FlowServicePort> {
  for (const port of ports) {
    if (kindOf(port) === kind) yield { ...frontendsOf(port), endpoints: usable(port.endpoints) };
  }
}

const servicePortOf = ({ before, after }: PlanDiff[number]): ServicePortPlan => (after ?? before)!;

const kindOf = ({ servicePort }: ServicePortPlan): FlowKind =>
  servicePort.protocol === 'UDP' ? 'datagrams' : 'connections';

/**
 * Those that serve, whatever the rules make of them; and those that are ready without serving, which is how pods of a
 * Service with publishNotReadyAddresses come: the rules send flows to these, so they cannot be stale.
 */
function usable(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const isUsable = (endpoint: Endpoint) => endpoint.isServing || endpoint.isReady;
  return endpoints.every(isUsable) ? endpoints : endpoints.filter(isUsable);
}

const frontendsOf = ({
  servicePort,
  frontends,
}: ServicePortPlan): { protocol: Protocol; frontends: readonly FlowFrontend[] } => ({
  protocol: servicePort.protocol,
  frontends: frontends.map((frontend) =>
    frontend.kind === 'NodePort' ? { nodePort: frontend.port } : { ip: frontend.ip, port: frontend.port },
  ),
});

const frontendKey = (frontend: Frontend): string =>
  frontend.kind === 'NodePort' ? String(frontend.port) : `${frontend.ip} ${frontend.port}`;
