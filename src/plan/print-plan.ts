import { joinHostPort } from '../base/ip.ts';
import { type Endpoint, endpointString } from '../model/endpoint.ts';
import { printableName } from '../model/service-port.ts';
import { type Frontend, frontendVerdict, type ProxyPlan, type ServicePortPlan } from './proxy-plan.ts';

/** The plan as text for people, ServicePorts in the order of their keys: what is served where, and what is refused. */
export function printPlan(plan: ProxyPlan): string {
  const { settings } = plan;
  const lines = [
    `${settings.family} on node ${settings.nodeName || '(unnamed)'}${settings.zone === '' ? '' : `, zone ${settings.zone}`}`,
    `  node ports on ${settings.nodePortAddresses === 'all' ? 'all addresses' : list(settings.nodePortAddresses)}; ` +
      `service networks ${list(settings.serviceCIDRs)}; ${printDetector(settings.localTraffic)}`,
  ];
  const keys = [...plan.servicePorts.keys()].sort();
  for (const key of keys) lines.push(...printServicePort(plan.servicePorts.get(key)!));
  return `${lines.join('\n')}\n`;
}

function printServicePort(plan: ServicePortPlan): string[] {
  const { servicePort } = plan;
  const traits = [
    servicePort.internalPolicyLocal ? 'internalTrafficPolicy Local' : '',
    servicePort.externalPolicyLocal ? 'externalTrafficPolicy Local' : '',
    servicePort.affinityTimeoutSeconds > 0 ? `ClientIP affinity ${servicePort.affinityTimeoutSeconds} s` : '',
    servicePort.healthCheckNodePort > 0 ? `health check on ${servicePort.healthCheckNodePort}` : '',
    servicePort.loadBalancerSourceRanges.length > 0
      ? `load balancer open to ${list(servicePort.loadBalancerSourceRanges.map((cidr) => `${cidr.address}/${cidr.prefixLength}`))}`
      : '',
  ].filter((trait) => trait !== '');
  const suffix = traits.length === 0 ? '' : `  (${traits.join(', ')})`;
  return [
    `${printableName(servicePort)}/${servicePort.protocol}${suffix}`,
    ...plan.frontends.map(
      (frontend) => `  ${printFrontend(frontend).padEnd(46)} ${printTarget(plan, frontend)}`,
    ),
  ];
}

function printFrontend(frontend: Frontend): string {
  const address =
    frontend.kind === 'NodePort' ? `*:${frontend.port}` : joinHostPort(frontend.ip, frontend.port);
  return `${frontend.kind.padEnd(14)} ${address}`;
}

function printTarget(plan: ServicePortPlan, frontend: Frontend): string {
  const { internalPolicyLocal, externalPolicyLocal } = plan.servicePort;
  switch (frontendVerdict(plan, frontend.kind)) {
    case 'reject':
      return 'rejected: no endpoints';
    case 'drop':
      return frontend.kind === 'ClusterIP'
        ? 'dropped: no endpoint on this node'
        : `dropped from outside: no endpoint on this node; from here to ${printEndpoints(plan.cluster)}`;
    case 'forward': {
      if (frontend.kind === 'ClusterIP')
        return `to ${printEndpoints(internalPolicyLocal ? plan.local : plan.cluster)}`;
      return externalPolicyLocal
        ? `to ${printEndpoints(plan.local)}; from here to ${printEndpoints(plan.cluster)}`
        : `to ${printEndpoints(plan.cluster)}, masqueraded`;
    }
  }
}

function printEndpoints(endpoints: readonly Endpoint[]): string {
  const shown = endpoints
    .slice(0, 8)
    .map(
      (e) => `${endpointString(e)}${e.isLocal ? ' (here)' : ''}${e.isTerminating ? ' (terminating)' : ''}`,
    );
  const more = endpoints.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

function printDetector(detector: ProxyPlan['settings']['localTraffic']): string {
  switch (detector.kind) {
    case 'cidr':
      return `local traffic by source ${detector.cidr}`;
    case 'bridgeInterface':
      return `local traffic by interface ${detector.name}`;
    case 'interfaceNamePrefix':
      return `local traffic by interfaces ${detector.prefix}*`;
    case 'none':
      return 'local traffic is not told apart';
  }
}

function list(items: readonly string[]): string {
  return items.length === 0 ? 'none' : items.join(', ');
}
