import type { Endpoint } from '../../model/endpoint.ts';
import type { Frontend, PlanDiff, ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { type UdpFrontend, UdpFrontends, type UdpServicePort } from './stale-flows.ts';

/**
 * The UDP frontends of a plan, to find stale flows with once the plan is in the kernel. `changes` are all that led to
 * the plan since flows were last looked at, those of failed syncs included: frontends that they took away count as
 * removed. Without it (a full sync after a start) only what the plan itself says is known.
 */
export function udpFrontendsOf(plan: ProxyPlan, changes: PlanDiff = []): UdpFrontends {
  const { family, nodePortAddresses } = plan.settings;
  const removed: UdpFrontend[] = [];
  for (const { before } of changes) {
    // Those that are still in the plan are judged by it, whoever owns them now.
    if (before?.servicePort.protocol === 'UDP') removed.push(...before.frontends.map(udpFrontend));
  }
  return new UdpFrontends({
    family,
    servicePorts: udpServicePorts(plan),
    removed,
    ...(nodePortAddresses === 'all' ? {} : { nodePortAddresses }),
  });
}

/** Whether a change can have made flows stale: a UDP ServicePort lost or got endpoints or frontends. */
export function mayHaveStaleFlows(changes: PlanDiff): boolean {
  return changes.some(({ before, after }) => {
    if ((after ?? before)?.servicePort.protocol !== 'UDP') return false;
    return before === undefined || after === undefined || !sameDestinations(before, after);
  });
}

function sameDestinations(before: ServicePortPlan, after: ServicePortPlan): boolean {
  const one = before.endpoints.filter(isServing);
  const other = after.endpoints.filter(isServing);
  return (
    sameList(before.frontends, after.frontends, (a, b) => frontendKey(a) === frontendKey(b)) &&
    sameList(one, other, (a, b) => a.ip === b.ip && a.port === b.port)
  );
}

function sameList<T>(one: readonly T[], other: readonly T[], same: (a: T, b: T) => boolean): boolean {
  return one.length === other.length && one.every((item, i) => same(item, other[i]!));
}

function* udpServicePorts(plan: ProxyPlan): Generator<UdpServicePort> {
  for (const { servicePort, frontends, endpoints } of plan.servicePorts.values()) {
    if (servicePort.protocol !== 'UDP') continue;
    const servingEndpoints = endpoints.every(isServing) ? endpoints : endpoints.filter(isServing);
    yield { frontends: frontends.map(udpFrontend), servingEndpoints };
  }
}

const isServing = (endpoint: Endpoint): boolean => endpoint.isServing;

const udpFrontend = (frontend: Frontend): UdpFrontend =>
  frontend.kind === 'NodePort' ? { nodePort: frontend.port } : { ip: frontend.ip, port: frontend.port };

const frontendKey = (frontend: Frontend): string =>
  frontend.kind === 'NodePort' ? String(frontend.port) : `${frontend.ip} ${frontend.port}`;
