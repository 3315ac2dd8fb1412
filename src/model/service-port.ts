import { type Cidr, familyOf, formatCidr, type IpFamily, parseCidr, parseIp } from '../base/ip.ts';
import type * as kube from '../kube/service.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/**
 * One port of one Service, for one address family: what is balanced (spec A.1.5). Addresses are canonical, of this
 * family, and free of duplicates.
 */
export interface ServicePort {
  /** Namespace and name of the Service, and the name of its port. */
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly protocol: Protocol;
  readonly clusterIP: string;
  readonly port: number;
  /** 0 where there is none. */
  readonly nodePort: number;
  readonly externalIPs: readonly string[];
  /** Load-balancer addresses in VIP mode. */
  readonly loadBalancerVIPs: readonly string[];
  /** Networks that may use the load-balancer addresses; empty means everybody. */
  readonly loadBalancerSourceRanges: readonly Cidr[];
  /** ClientIP affinity in seconds; 0 where there is none. */
  readonly affinityTimeoutSeconds: number;
  readonly externalPolicyLocal: boolean;
  readonly internalPolicyLocal: boolean;
  /** 0 where there is none. */
  readonly healthCheckNodePort: number;
  /** `spec.externalIPs` of any family was given: counts for {@link isExternallyAccessible} even where the addresses are not served. */
  readonly hasExternalIPs: boolean;
  /** Milliseconds since the epoch; where two of them could serve an address, the older Service has it. */
  readonly creationTimestamp: number;
}

/** A field of an object that cannot be used. The rest of the object is, where that makes sense. */
export interface ModelProblem {
  readonly kind: 'Service' | 'EndpointSlice';
  readonly namespace: string;
  readonly name: string;
  readonly field: string;
  readonly reason: string;
}

export type ReportProblem = (problem: ModelProblem) => void;

/** `namespace/name`, the key of everything that is kept per Service. */
export function serviceKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** What identifies a ServicePort (spec A.1.4): as the printable name, but with the protocol. */
export function servicePortKey(
  port: Pick<ServicePort, 'namespace' | 'name' | 'portName' | 'protocol'>,
): string {
  return `${printableName(port)}/${port.protocol}`;
}

/** `namespace/name:port`, or `namespace/name` where the port has no name: as kube-proxy prints it in logs and comments. */
export function printableName(port: Pick<ServicePort, 'namespace' | 'name' | 'portName'>): string {
  return port.portName === ''
    ? `${port.namespace}/${port.name}`
    : `${port.namespace}/${port.name}:${port.portName}`;
}

/** Whether anything but the ClusterIP leads to this port (spec A.1.5). */
export function isExternallyAccessible(port: ServicePort): boolean {
  return port.nodePort !== 0 || port.loadBalancerVIPs.length > 0 || port.hasExternalIPs;
}

/** Whether some traffic to this port is spread over the whole cluster (spec A.1.5). */
export function usesClusterEndpoints(port: ServicePort): boolean {
  return !port.internalPolicyLocal || isExternallyAccessible(port);
}

/** Whether some traffic to this port stays on this node (spec A.1.5). */
export function usesLocalEndpoints(port: ServicePort): boolean {
  return port.internalPolicyLocal || (port.externalPolicyLocal && isExternallyAccessible(port));
}

/**
 * The ports of a Service in one family by {@link servicePortKey}, or `undefined` when the Service is not for this proxy
 * and family (spec A.1.2, A.1.3). What cannot be used is reported, and left out as narrowly as possible.
 */
export function servicePortsOf(
  service: kube.Service,
  family: IpFamily,
  report: ReportProblem,
): ReadonlyMap<string, ServicePort> | undefined {
  if (service.clusterIP === '' || service.clusterIP === 'None' || service.type === 'ExternalName')
    return undefined;
  const clusterIPText = clusterIPOf(service, family);
  if (clusterIPText === undefined) return undefined;
  const problem = (field: string, reason: string) =>
    report({ kind: 'Service', namespace: service.namespace, name: service.name, field, reason });
  const clusterIP = parseIp(clusterIPText);
  if (clusterIP === undefined || familyOf(clusterIP) !== family) {
    problem('spec.clusterIPs', `${JSON.stringify(clusterIPText)} is no ${family} address`);
    return undefined;
  }
  const hasExternalIPs = service.externalIPs.some((ip) => ip !== '');
  const externallyVisibleType =
    service.type === 'LoadBalancer' ||
    service.type === 'NodePort' ||
    (service.type === 'ClusterIP' && service.externalIPs.length > 0);
  const externalPolicyLocal = service.externalTrafficPolicy === 'Local' && externallyVisibleType;
  let healthCheckNodePort = 0;
  if (externalPolicyLocal && service.type === 'LoadBalancer') {
    healthCheckNodePort = service.healthCheckNodePort;
    if (!isPort(healthCheckNodePort)) {
      problem('spec.healthCheckNodePort', 'externalTrafficPolicy Local of a load balancer needs one');
      healthCheckNodePort = 0;
    }
  }
  const externalIPs = addressesOf(service.externalIPs, family, 'spec.externalIPs', problem);
  const loadBalancerVIPs = addressesOf(
    service.loadBalancerIngress.filter((ingress) => ingress.ipMode !== 'Proxy').map((ingress) => ingress.ip),
    family,
    'status.loadBalancer.ingress',
    problem,
  );
  const loadBalancerSourceRanges = sourceRangesOf(service, family, problem);
  const ports = new Map<string, ServicePort>();
  for (const [index, port] of service.ports.entries()) {
    const field = `spec.ports[${index}]`;
    if (!isProtocol(port.protocol)) {
      problem(`${field}.protocol`, `${JSON.stringify(port.protocol)} is not TCP, UDP or SCTP`);
      continue;
    }
    if (!isPort(port.port)) {
      problem(`${field}.port`, `${port.port} is no port number`);
      continue;
    }
    if (port.nodePort !== 0 && !isPort(port.nodePort))
      problem(`${field}.nodePort`, `${port.nodePort} is no port number`);
    const servicePort: ServicePort = {
      namespace: service.namespace,
      name: service.name,
      portName: port.name,
      protocol: port.protocol,
      clusterIP,
      port: port.port,
      nodePort: isPort(port.nodePort) ? port.nodePort : 0,
      externalIPs,
      loadBalancerVIPs,
      loadBalancerSourceRanges,
      affinityTimeoutSeconds:
        service.sessionAffinity === 'ClientIP' ? (service.affinityTimeoutSeconds ?? 10_800) : 0,
      externalPolicyLocal,
      internalPolicyLocal: service.internalTrafficPolicy === 'Local',
      healthCheckNodePort,
      hasExternalIPs,
      creationTimestamp: service.creationTimestamp,
    };
    ports.set(servicePortKey(servicePort), servicePort);
  }
  return ports;
}

/** Whether two port maps say the same; an absent map differs from an empty one (spec A.1.8). */
export function equalServicePorts(
  a: ReadonlyMap<string, ServicePort> | undefined,
  b: ReadonlyMap<string, ServicePort> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.size !== b.size) return false;
  for (const [key, port] of a) {
    const other = b.get(key);
    if (other === undefined || !equalServicePort(port, other)) return false;
  }
  return true;
}

function equalServicePort(a: ServicePort, b: ServicePort): boolean {
  return (
    a.clusterIP === b.clusterIP &&
    a.port === b.port &&
    a.nodePort === b.nodePort &&
    a.affinityTimeoutSeconds === b.affinityTimeoutSeconds &&
    a.externalPolicyLocal === b.externalPolicyLocal &&
    a.internalPolicyLocal === b.internalPolicyLocal &&
    a.healthCheckNodePort === b.healthCheckNodePort &&
    a.hasExternalIPs === b.hasExternalIPs &&
    a.creationTimestamp === b.creationTimestamp &&
    equalLists(a.externalIPs, b.externalIPs) &&
    equalLists(a.loadBalancerVIPs, b.loadBalancerVIPs) &&
    equalLists(a.loadBalancerSourceRanges.map(formatCidr), b.loadBalancerSourceRanges.map(formatCidr))
  );
}

function equalLists(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

function clusterIPOf(service: kube.Service, family: IpFamily): string | undefined {
  if (service.ipFamilies.length === 0) {
    const ip = parseIp(service.clusterIP);
    return ip === undefined || familyOf(ip) === family ? service.clusterIP : undefined;
  }
  const index = service.ipFamilies.indexOf(family);
  return index >= 0 ? service.clusterIPs[index] : undefined;
}

function addressesOf(
  texts: readonly string[],
  family: IpFamily,
  field: string,
  problem: (field: string, reason: string) => void,
): readonly string[] {
  if (texts.length === 0) return none;
  const addresses = new Set<string>();
  for (const text of texts) {
    if (text === '') continue;
    const ip = parseIp(text);
    if (ip === undefined) problem(field, `${JSON.stringify(text)} is no IP address`);
    else if (familyOf(ip) === family) addresses.add(ip);
  }
  return [...addresses];
}

const none: readonly never[] = Object.freeze([]);

function sourceRangesOf(
  service: kube.Service,
  family: IpFamily,
  problem: (field: string, reason: string) => void,
): readonly Cidr[] {
  if (service.loadBalancerSourceRanges.length === 0) return none;
  const ranges: Cidr[] = [];
  for (const text of service.loadBalancerSourceRanges) {
    const trimmed = text.trim();
    if (trimmed === '') continue;
    const cidr = parseCidr(trimmed);
    if (cidr === undefined) problem('spec.loadBalancerSourceRanges', `${JSON.stringify(text)} is no network`);
    else if (cidr.family === family) ranges.push(cidr);
  }
  // A range that holds every address means no filtering at all (spec A.1.6).
  return ranges.some((cidr) => cidr.prefixLength === 0) ? none : ranges;
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= 65_535;
}

function isProtocol(text: string): text is Protocol {
  return text === 'TCP' || text === 'UDP' || text === 'SCTP';
}
