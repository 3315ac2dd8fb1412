import { joinHostPort } from '../base/ip.ts';
import { type Endpoint, endpointString } from '../model/endpoint.ts';
import { printableName } from '../model/service-port.ts';
import {
  type Connection,
  type ConnectionOutcome,
  connectionOutcome,
  type NodeView,
} from './connection-outcome.ts';
import type { ProxyPlan, ServicePortPlan } from './proxy-plan.ts';

/** Tells what happens to a new connection and why, as lines for people. */
export function explainConnection(connection: Connection, view: NodeView): readonly string[] {
  const { ip, port, protocol } = connection.destination;
  const where = `${joinHostPort(ip, port)}/${protocol}`;
  const outcome = connectionOutcome(connection, view);
  const { match } = outcome;
  const [first = '', ...more] = outcomeLines(outcome, connection);
  if (match === undefined) return [`${where}: ${first}`, ...more];
  return [
    `${where} is the ${match.frontend.kind} of ${printableName(match.servicePort.servicePort)}`,
    first,
    ...more,
    ...undecidedLines(connection, view),
    ...unusedLines(match.servicePort, view),
  ];
}

const words = { rejected: 'rejected', dropped: 'dropped', untouched: 'not touched' } as const;

function outcomeLines(outcome: ConnectionOutcome, { source }: Connection): string[] {
  if (outcome.kind !== 'forwarded') return [`${words[outcome.kind]}: ${outcome.reason}`];
  const { endpoints, masquerade, shortCircuit, match } = outcome;
  const seconds = match.servicePort.servicePort.affinityTimeoutSeconds;
  const lines: string[] = [];
  if (shortCircuit !== undefined) {
    const whose = shortCircuit === 'pod' ? 'a pod of this node' : 'this node';
    lines.push(
      `externalTrafficPolicy is Local, but the connection comes from ${whose}: it may use the whole cluster`,
    );
  }
  lines.push(`goes to one of ${endpoints.length}: ${endpoints.map(endpointString).join(', ')}`);
  if (seconds > 0) lines.push(`  the same one for each client for ${seconds} s after its last connection`);
  lines.push(
    masquerade
      ? '  the endpoint sees an address of this node as the client'
      : "  the endpoint sees the client's own address",
  );
  if (!masquerade && endpoints.some((endpoint) => endpoint.ip === source))
    lines.push('  where it is the client itself, it sees an address of this node');
  return lines;
}

/** What the answer leaves open: detectors by interface need to know where a packet comes in. */
function undecidedLines({ source, inputInterface }: Connection, { plan, nodeAddresses }: NodeView): string[] {
  const { localTraffic } = plan.settings;
  const isFromNode = source !== undefined && nodeAddresses.includes(source);
  if (source === undefined || inputInterface !== undefined || isFromNode) return [];
  if (localTraffic.kind === 'bridgeInterface')
    return [`it is a pod's, and treated so, if it comes in by the interface ${localTraffic.name}`];
  if (localTraffic.kind === 'interfaceNamePrefix')
    return [`it is a pod's, and treated so, if it comes in by an interface named ${localTraffic.prefix}*`];
  return [];
}

/** Why endpoints that exist are not used by cluster-wide traffic. */
function unusedLines(servicePort: ServicePortPlan, { plan }: NodeView): string[] {
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
