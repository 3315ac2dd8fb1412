import { cidrContains, familyOf, formatCidr, isLoopback, parseCidr } from '../base/ip.ts';
import type { Endpoint } from '../model/endpoint.ts';
import type { Protocol } from '../model/service-port.ts';
import { type Frontend, frontendVerdict, type ProxyPlan, type ServicePortPlan } from './proxy-plan.ts';

/** A new connection to ask about. Addresses are canonical. */
export interface Connection {
  readonly destination: { readonly ip: string; readonly port: number; readonly protocol: Protocol };
  /** Address it comes from; undefined stands for a client outside the cluster. */
  readonly source: string | undefined;
  /** Interface that it comes in by, where known: some detectors of local traffic look at nothing else. */
  readonly inputInterface?: string;
}

/** What one has to know about the node besides its plan. */
export interface NodeView {
  readonly plan: ProxyPlan;
  /** The modes differ for ports and addresses that no Service has, and at the edges of node ports (spec D3). */
  readonly mode: 'nftables' | 'iptables';
  /** All addresses of this node. */
  readonly nodeAddresses: readonly string[];
}

/** A frontend, and the ServicePort that owns it. */
export interface MatchedFrontend {
  readonly servicePort: ServicePortPlan;
  readonly frontend: Frontend;
}

/** What becomes of a connection. */
export type ConnectionOutcome =
  | {
      readonly kind: 'forwarded';
      readonly match: MatchedFrontend;
      /** One of these is drawn. Never empty. */
      readonly endpoints: readonly Endpoint[];
      /** The endpoint sees an address of this node. */
      readonly masquerade: boolean;
      /** Policy Local does not bind this source: it uses the whole cluster. */
      readonly shortCircuit?: 'pod' | 'node';
    }
  | {
      readonly kind: 'rejected' | 'dropped' | 'untouched';
      readonly match: MatchedFrontend | undefined;
      readonly reason: string;
    };

/** Decides what the rules of a plan do with a new connection; pure, for explanations and to check the kernel against. */
export function connectionOutcome(connection: Connection, view: NodeView): ConnectionOutcome {
  const match = findFrontend(connection, view);
  if (match === undefined) return outcomeWithoutFrontend(connection, view);
  const { servicePort, frontend } = match;
  const port = servicePort.servicePort;
  if (isKeptOut(connection, match, view)) {
    const ranges = port.loadBalancerSourceRanges.map(formatCidr).join(', ');
    return { kind: 'dropped', match, reason: `loadBalancerSourceRanges lets in ${ranges} only` };
  }
  const isExternal = frontend.kind !== 'ClusterIP';
  const verdict = frontendVerdict(servicePort, frontend.kind);
  if (verdict === 'reject') return rejection(connection, match, view);
  const from = sourceKind(connection, view);
  const isLocalPolicy = isExternal ? port.externalPolicyLocal : port.internalPolicyLocal;
  if (isLocalPolicy && isExternal && from !== 'outside') {
    const endpoints = servicePort.cluster;
    return { kind: 'forwarded', match, endpoints, masquerade: from === 'node', shortCircuit: from };
  }
  if (verdict === 'drop') return localDrop(match);
  const { masqueradeAll, localTraffic } = view.plan.settings;
  const masquerade = isExternal
    ? !isLocalPolicy
    : masqueradeAll || (localTraffic.kind !== 'none' && from !== 'pod');
  const endpoints = isLocalPolicy ? servicePort.local : servicePort.cluster;
  return { kind: 'forwarded', match, endpoints, masquerade };
}

function findFrontend({ destination }: Connection, view: NodeView): MatchedFrontend | undefined {
  const takesNodePorts = acceptsNodePorts(destination.ip, view);
  let nodePort: MatchedFrontend | undefined;
  for (const servicePort of view.plan.servicePorts.values()) {
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

function acceptsNodePorts(ip: string, { plan, mode, nodeAddresses }: NodeView): boolean {
  const { family, nodePortAddresses, localhostNodePorts } = plan.settings;
  if (isLoopback(ip) && (mode === 'nftables' || family === 'IPv6' || !localhostNodePorts)) return false;
  return nodePortAddresses === 'all' ? nodeAddresses.includes(ip) : nodePortAddresses.includes(ip);
}

function outcomeWithoutFrontend(connection: Connection, view: NodeView): ConnectionOutcome {
  const { destination } = connection;
  const { plan, mode, nodeAddresses } = view;
  const servicePorts = [...plan.servicePorts.values()];
  if (mode === 'iptables' && nodeAddresses.includes(destination.ip)) {
    // The refusals of node ports do not look at nodePortAddresses there (spec B.1.7, 4c).
    for (const servicePort of servicePorts) {
      if (servicePort.servicePort.protocol !== destination.protocol) continue;
      const frontend = servicePort.frontends.find(
        (f) => f.kind === 'NodePort' && f.port === destination.port,
      );
      if (frontend === undefined) continue;
      const verdict = frontendVerdict(servicePort, 'NodePort');
      if (verdict === 'reject') return rejection(connection, { servicePort, frontend }, view);
      if (verdict === 'drop') return localDrop({ servicePort, frontend });
    }
  }
  const decided = (kind: 'rejected' | 'dropped' | 'untouched', reason: string): ConnectionOutcome => ({
    kind,
    match: undefined,
    reason,
  });
  const elsewhere = 'no Service has this address and port, the packet is routed as it is';
  if (mode === 'iptables' || nodeAddresses.includes(destination.ip)) return decided('untouched', elsewhere);
  const owners = servicePorts.filter((p) => p.servicePort.clusterIP === destination.ip);
  if (owners.length > 0) {
    const ports = owners.map((p) => `${p.servicePort.port}/${p.servicePort.protocol}`).join(', ');
    const { namespace, name } = owners[0]!.servicePort;
    return decided('rejected', `the ClusterIP of ${namespace}/${name}, which has only ${ports}`);
  }
  const network = plan.settings.serviceCIDRs.find((text) => contains(text, destination.ip));
  return network === undefined
    ? decided('untouched', elsewhere)
    : decided('dropped', `no Service has this address of the service network ${network}`);
}

/** Whether source ranges refuse the connection (spec A12, B.1.9). */
function isKeptOut({ source }: Connection, match: MatchedFrontend, { plan, mode }: NodeView): boolean {
  const { servicePort, frontend } = match;
  const { loadBalancerSourceRanges: ranges, loadBalancerVIPs } = servicePort.servicePort;
  if (frontend.kind !== 'LoadBalancerIP' || ranges.length === 0) return false;
  // There, a Service without endpoints and external addresses come first.
  if (mode === 'iptables' && (!servicePort.hasAnyEndpoints || frontend.isExternalIP)) return false;
  if (source === undefined) return true;
  if (ranges.some((range) => cidrContains(range, source))) return false;
  const coversNode = ranges.some((range) => cidrContains(range, plan.settings.nodeIP));
  return !(coversNode && loadBalancerVIPs.includes(source));
}

function rejection(connection: Connection, match: MatchedFrontend, view: NodeView): ConnectionOutcome {
  const { destination, source } = connection;
  const isFromNode = source !== undefined && view.nodeAddresses.includes(source);
  const leavesNode = isFromNode && !view.nodeAddresses.includes(destination.ip);
  if (view.mode === 'iptables' && leavesNode && match.frontend.kind !== 'ClusterIP') {
    const reason = 'the Service has no usable endpoint, but processes of this node are not told so';
    return { kind: 'untouched', match, reason };
  }
  return { kind: 'rejected', match, reason: 'the Service has no usable endpoint anywhere' };
}

function localDrop(match: MatchedFrontend): ConnectionOutcome {
  const policy = match.frontend.kind === 'ClusterIP' ? 'internalTrafficPolicy' : 'externalTrafficPolicy';
  return { kind: 'dropped', match, reason: `${policy} is Local and no endpoint is on this node` };
}

function sourceKind(
  { source, inputInterface }: Connection,
  { plan, nodeAddresses }: NodeView,
): 'pod' | 'node' | 'outside' {
  const { localTraffic } = plan.settings;
  const isPod = (): boolean => {
    switch (localTraffic.kind) {
      case 'cidr':
        return source !== undefined && contains(localTraffic.cidr, source);
      case 'bridgeInterface':
        return inputInterface === localTraffic.name;
      case 'interfaceNamePrefix':
        return inputInterface?.startsWith(localTraffic.prefix) ?? false;
      case 'none':
        return false;
    }
  };
  if (isPod()) return 'pod';
  return source !== undefined && nodeAddresses.includes(source) ? 'node' : 'outside';
}

function contains(network: string, ip: string): boolean {
  const cidr = parseCidr(network);
  return cidr !== undefined && cidr.family === familyOf(ip) && cidrContains(cidr, ip);
}
