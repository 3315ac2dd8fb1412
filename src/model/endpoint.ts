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
  const endpoints: Endpoint[] = [];
  const strings: string[] = [];
  for (const slice of slices) {
    for (const port of slice.ports) {
      if (port.name !== selection.portName || port.protocol !== selection.protocol || !isPort(port.port))
        continue;
      for (const endpoint of slice.endpoints) {
        const ip = canonical(endpoint, selection.family);
        if (ip === undefined) continue;
        endpoints.push(endpointOf(endpoint, ip, port.port, selection.nodeName));
        strings.push(joinHostPort(ip, port.port));
      }
    }
  }
  return endpoints.length === 0 ? none : inOrder(endpoints, strings);
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
  if (endpoint.address === '') return undefined;
  const ip = parseIp(endpoint.address);
  return ip !== undefined && familyOf(ip) === family ? ip : undefined;
}

function endpointOf(endpoint: kube.Endpoint, ip: string, port: number, nodeName: string): Endpoint {
  return {
    ip,
    port,
    isLocal: nodeName !== '' && endpoint.nodeName === nodeName,
    isReady: endpoint.ready ?? true,
    isServing: endpoint.serving ?? true,
    isTerminating: endpoint.terminating ?? false,
    zoneHints: endpoint.zoneHints,
    nodeHints: endpoint.nodeHints,
  };
}

/** Sorts by the strings and drops duplicates: of equal ones the last that is not terminating stays, else the first. */
function inOrder(endpoints: readonly Endpoint[], strings: readonly string[]): readonly Endpoint[] {
  if (isAscending(strings)) return endpoints;
  // Strings are ASCII, so the order of UTF-16 code units is the order of bytes. The sort keeps equal ones in place.
  const order = strings
    .map((_, index) => index)
    .sort((a, b) => (strings[a]! < strings[b]! ? -1 : strings[a]! > strings[b]! ? 1 : 0));
  const kept: Endpoint[] = [];
  let last: string | undefined;
  for (const index of order) {
    const endpoint = endpoints[index]!;
    if (strings[index] !== last) kept.push(endpoint);
    else if (!endpoint.isTerminating) kept[kept.length - 1] = endpoint;
    last = strings[index];
  }
  return kept;
}

function isAscending(strings: readonly string[]): boolean {
  for (let i = 1; i < strings.length; i++) if (!(strings[i - 1]! < strings[i]!)) return false;
  return true;
}

function isPort(port: number | undefined): port is number {
  return port !== undefined && port > 0 && port <= 65_535;
}
