import { familyOf, type IpFamily, joinHostPort, parseIp } from '../base/ip.ts';
import type * as kube from '../kube/endpoint-slice.ts';
import type { ReportProblem } from './service-port.ts';

/** A pod address behind a ServicePort, with kube-proxy's meaning of the conditions (spec A.2.3). */
export interface Endpoint {
  /** Canonical. */
  readonly ip: string;
  readonly port: number;
  readonly isLocal: boolean;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

/** What to take from the slices of a Service. */
export interface EndpointSelection {
  readonly family: IpFamily;
  /** The endpoint is local when its nodeName is exactly this; an empty name matches nothing. */
  readonly nodeName: string;
  readonly portName: string;
  readonly protocol: string;
}

/** `ip:port`, or `[ip]:port`: identifies an endpoint among those of a ServicePort, and sorts them. */
export function endpointString(endpoint: Endpoint): string {
  return joinHostPort(endpoint.ip, endpoint.port);
}

/**
 * The endpoints of one ServicePort out of its slices, sorted by their string, byte by byte. Of several with the same
 * string one that is not terminating wins (spec A.2.3). Slices must come in the order of their names.
 */
export function endpointsOf(
  slices: Iterable<kube.EndpointSlice>,
  selection: EndpointSelection,
): readonly Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const slice of slices) {
    for (const port of slice.ports) {
      if (port.name !== selection.portName || port.protocol !== selection.protocol || !port.port) continue;
      for (const endpoint of slice.endpoints) addEndpoint(found, endpoint, port.port, selection);
    }
  }
  if (found.size === 0) return none;
  if (found.size === 1) return [...found.values()];
  // Strings are ASCII, so the order of UTF-16 code units is the order of bytes.
  const strings = [...found.keys()].sort();
  return strings.map((string) => found.get(string)!);
}

/** Reports the addresses of a slice that {@link endpointsOf} passes over, one problem a slice at the most. */
export function reportUnusableEndpoints(
  slice: kube.EndpointSlice,
  family: IpFamily,
  report: ReportProblem,
): void {
  const unusable = slice.endpoints.filter(
    (endpoint) => endpoint.address !== '' && canonical(endpoint, family) === undefined,
  );
  const badPorts = slice.ports.filter(
    (port) => port.port !== undefined && !(port.port >= 0 && port.port <= 65_535),
  );
  const problem = (field: string, reason: string) =>
    report({ kind: 'EndpointSlice', namespace: slice.namespace, name: slice.name, field, reason });
  if (unusable.length > 0) {
    const more = unusable.length > 1 ? ` (and ${unusable.length - 1} more)` : '';
    problem('endpoints.addresses', `${JSON.stringify(unusable[0]!.address)} is no ${family} address${more}`);
  }
  if (badPorts.length > 0) problem('ports.port', `${badPorts[0]!.port} is no port number`);
}

const none: readonly never[] = Object.freeze([]);

function canonical(endpoint: kube.Endpoint, family: IpFamily): string | undefined {
  const ip = parseIp(endpoint.address);
  return ip !== undefined && familyOf(ip) === family ? ip : undefined;
}

function addEndpoint(
  found: Map<string, Endpoint>,
  endpoint: kube.Endpoint,
  port: number,
  selection: EndpointSelection,
): void {
  if (endpoint.address === '' || !(port > 0 && port <= 65_535)) return;
  const ip = canonical(endpoint, selection.family);
  if (ip === undefined) return;
  const isTerminating = endpoint.terminating ?? false;
  const string = joinHostPort(ip, port);
  if (isTerminating && found.has(string)) return;
  found.set(string, {
    ip,
    port,
    isLocal: selection.nodeName !== '' && endpoint.nodeName === selection.nodeName,
    isReady: endpoint.ready ?? true,
    isServing: endpoint.serving ?? true,
    isTerminating,
    zoneHints: endpoint.zoneHints,
    nodeHints: endpoint.nodeHints,
  });
}
