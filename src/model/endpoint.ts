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

/** `ip:port`, or `[ip]:port`: identifies an endpoint among those of a ServicePort, and sorts them. */
export function endpointString(endpoint: Endpoint): string {
  return joinHostPort(endpoint.ip, endpoint.port);
}

/**
 * The endpoints of one port of a slice, sorted by their string, byte by byte. Of several with the same string one that
 * is not terminating wins (spec A.2.3); those without a usable address of the family are passed over. An endpoint is
 * local when its nodeName is exactly `nodeName`; an empty name matches nothing.
 */
export function sliceEndpoints(
  endpoints: readonly kube.Endpoint[],
  port: number,
  { family, nodeName }: { readonly family: IpFamily; readonly nodeName: string },
): readonly Endpoint[] {
  const usable: Endpoint[] = [];
  for (const endpoint of endpoints) {
    const ip = canonical(endpoint, family);
    if (ip !== undefined) usable.push(endpointOf(endpoint, ip, port, nodeName));
  }
  return usable.length === 0 ? none : inOrder(usable);
}

/** The union of lists made by {@link sliceEndpoints}, by the same rules; the lists come in the order of their slices' names. */
export function mergeEndpoints(lists: readonly (readonly Endpoint[])[]): readonly Endpoint[] {
  if (lists.length === 0) return none;
  return lists.length === 1 ? lists[0]! : inOrder(lists.flat());
}

/** Reports the addresses of a slice that {@link sliceEndpoints} passes over, one problem a slice at the most. */
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
function inOrder(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const strings = endpoints.map(endpointString);
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
