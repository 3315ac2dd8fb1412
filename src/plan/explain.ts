import { cidrContains, familyOf, formatCidr, joinHostPort, parseCidr } from '../base/ip.ts';
import { type Endpoint, endpointString } from '../model/endpoint.ts';
import { type Protocol, printableName } from '../model/service-port.ts';
import { type Frontend, frontendVerdict, type ProxyPlan, type ServicePortPlan } from './proxy-plan.ts';

/** A new connection to ask about. Addresses are canonical. */
export interface Connection {
  readonly destination: { readonly ip: string; readonly port: number; readonly protocol: Protocol };
  /** Address it comes from; undefined stands for a client outside the cluster. */
  readonly source: string | undefined;
}

/** What one has to know about the node besides its plan. */
export interface NodeView {
  readonly plan: ProxyPlan;
  /** All addresses of this node. */
  readonly nodeAddresses: readonly string[];
}

/**
 * Tells what happens to a new connection and why, as lines for people. It follows the rules of the nftables mode; others
 * differ for ports and addresses that no Service has (spec D3).
 */
export function explainConnection(connection: Connection, view: NodeView): readonly string[] {
  const { destination } = connection;
  const where = `${joinHostPort(destination.ip, destination.port)}/${destination.protocol}`;
  const found = findFrontend(connection, view);
  if (found === undefined) return [`${where}: ${explainUnknown(connection, view)}`];
  const { servicePort, frontend } = found;
  const lines = [`${where} is the ${frontend.kind} of ${printableName(servicePort.servicePort)}`];
  lines.push(...explainFrontend(connection, view, servicePort, frontend));
  lines.push(...explainUnused(servicePort, view));
  return lines;
}

function findFrontend(
  { destination }: Connection,
  { plan, nodeAddresses }: NodeView,
): { servicePort: ServicePortPlan; frontend: Frontend } | undefined {
  const { nodePortAddresses } = plan.settings;
  const takesNodePorts =
    nodePortAddresses === 'all'
      ? nodeAddresses.includes(destination.ip)
      : nodePortAddresses.includes(destination.ip);
  let nodePort: { servicePort: ServicePortPlan; frontend: Frontend } | undefined;
  for (const servicePort of plan.servicePorts.values()) {
    if (servicePort.servicePort.protocol !== destination.protocol) continue;
    for (const frontend of servicePort.frontends) {
      if (frontend.port !== destination.port) continue;
      // An address of its own comes before a node port of the same number (spec A13).
      if (frontend.kind !== 'NodePort' && frontend.ip === destination.ip) return { servicePort, frontend };
      if (frontend.kind === 'NodePort' && takesNodePorts) nodePort = { servicePort, frontend };
    }
  }
  return nodePort;
}

function explainUnknown({ destination }: Connection, { plan }: NodeView): string {
  const owners = [...plan.servicePorts.values()].filter((p) => p.servicePort.clusterIP === destination.ip);
  if (owners.length > 0) {
    const ports = owners.map((p) => `${p.servicePort.port}/${p.servicePort.protocol}`).join(', ');
    const { namespace, name } = owners[0]!.servicePort;
    return `rejected: the ClusterIP of ${namespace}/${name}, which has only ${ports}`;
  }
  const network = plan.settings.serviceCIDRs.find((text) => contains(text, destination.ip));
  if (network !== undefined) return `dropped: no Service has this address of the service network ${network}`;
  return 'not touched: no Service has this address and port, the packet is routed as it is';
}

function explainFrontend(
  connection: Connection,
  view: NodeView,
  servicePort: ServicePortPlan,
  frontend: Frontend,
): string[] {
  const { servicePort: port } = servicePort;
  const from = sourceKind(connection.source, view);
  if (frontend.kind === 'LoadBalancerIP' && port.loadBalancerSourceRanges.length > 0) {
    const ranges = port.loadBalancerSourceRanges;
    const { source } = connection;
    if (source === undefined || !ranges.some((range) => cidrContains(range, source))) {
      return [`dropped: loadBalancerSourceRanges lets in ${ranges.map(formatCidr).join(', ')} only`];
    }
  }
  const isExternal = frontend.kind !== 'ClusterIP';
  const verdict = frontendVerdict(servicePort, frontend.kind);
  if (verdict === 'reject') return ['rejected: the Service has no usable endpoint anywhere'];
  const isLocalPolicy = isExternal ? port.externalPolicyLocal : port.internalPolicyLocal;
  const policy = isExternal ? 'externalTrafficPolicy' : 'internalTrafficPolicy';
  if (isLocalPolicy && isExternal && from !== 'outside') {
    return [
      `${policy} is Local, but the connection comes from ${from === 'pod' ? 'a pod of' : ''} this node: it may use the whole cluster`,
      ...forwarded(servicePort.cluster, port.affinityTimeoutSeconds, from === 'node'),
    ];
  }
  if (verdict === 'drop') return [`dropped: ${policy} is Local and no endpoint is on this node`];
  const masquerade = isExternal
    ? !isLocalPolicy
    : view.plan.settings.masqueradeAll || (view.plan.settings.localTraffic.kind !== 'none' && from !== 'pod');
  return forwarded(
    isLocalPolicy ? servicePort.local : servicePort.cluster,
    port.affinityTimeoutSeconds,
    masquerade,
  );
}

function forwarded(endpoints: readonly Endpoint[], affinitySeconds: number, masquerade: boolean): string[] {
  const lines = [`goes to one of ${endpoints.length}: ${endpoints.map(endpointString).join(', ')}`];
  if (affinitySeconds > 0)
    lines.push(`  the same one for each client for ${affinitySeconds} s after its last connection`);
  lines.push(
    masquerade
      ? '  the endpoint sees an address of this node as the client'
      : "  the endpoint sees the client's own address",
  );
  return lines;
}

/** Why endpoints that exist are not used by cluster-wide traffic. */
function explainUnused(servicePort: ServicePortPlan, { plan }: NodeView): string[] {
  const used = new Set(servicePort.allReachable);
  const reasons = new Map<string, string[]>();
  for (const endpoint of servicePort.endpoints) {
    if (used.has(endpoint)) continue;
    const reason = unusedReason(endpoint, plan);
    reasons.set(reason, [...(reasons.get(reason) ?? []), endpointString(endpoint)]);
  }
  return [...reasons].map(([reason, endpoints]) => `not used, ${reason}: ${endpoints.join(', ')}`);
}

function unusedReason(endpoint: Endpoint, { settings }: ProxyPlan): string {
  if (!endpoint.isReady) return endpoint.isTerminating ? 'terminating while others are ready' : 'not ready';
  if (endpoint.nodeHints.length > 0 && !endpoint.nodeHints.includes(settings.nodeName))
    return 'hinted to other nodes';
  if (endpoint.zoneHints.length > 0 && !endpoint.zoneHints.includes(settings.zone))
    return 'hinted to other zones';
  return 'on another node';
}

function sourceKind(
  source: string | undefined,
  { plan, nodeAddresses }: NodeView,
): 'pod' | 'node' | 'outside' {
  if (source === undefined) return 'outside';
  const { localTraffic } = plan.settings;
  if (localTraffic.kind === 'cidr' && contains(localTraffic.cidr, source)) return 'pod';
  return nodeAddresses.includes(source) ? 'node' : 'outside';
}

function contains(network: string, ip: string): boolean {
  const cidr = parseCidr(network);
  return cidr !== undefined && cidr.family === familyOf(ip) && cidrContains(cidr, ip);
}
