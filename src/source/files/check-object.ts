import { parseIp } from '../../base/ip.ts';
import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { Service } from '../../kube/service.ts';

/** A field that kube-apiserver would refuse; the reader turns it into a ManifestError with its line. */
export class ObjectProblem extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(problem);
    this.path = path;
  }
}

const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
const protocols = ['TCP', 'UDP', 'SCTP'];

/**
 * The checks of kube-apiserver whose failure would make a Service do something else than its author meant. What a
 * proxy skips anyway (a bad external IP or source range) is left to it. Throws ObjectProblem.
 */
export function checkService(service: Service): void {
  if (!serviceTypes.includes(service.type)) {
    throw new ObjectProblem('spec.type', `must be one of ${serviceTypes.join(', ')}`);
  }
  if (service.clusterIP !== (service.clusterIPs[0] ?? '')) {
    throw new ObjectProblem('spec.clusterIPs[0]', 'must be the same as spec.clusterIP');
  }
  for (const [i, ip] of service.clusterIPs.entries()) {
    if (ip === 'None' && i === 0) continue;
    if (parseIp(ip) === undefined) throw new ObjectProblem(`spec.clusterIPs[${i}]`, 'must be an IP address');
  }
  const names = new Set<string>();
  for (const [i, port] of service.ports.entries()) {
    const path = `spec.ports[${i}]`;
    if (port.port < 1 || port.port > 65_535)
      throw new ObjectProblem(`${path}.port`, 'must be from 1 to 65535');
    if (port.nodePort < 0 || port.nodePort > 65_535) {
      throw new ObjectProblem(`${path}.nodePort`, 'must be from 0 to 65535');
    }
    if (!protocols.includes(port.protocol)) {
      throw new ObjectProblem(`${path}.protocol`, `must be one of ${protocols.join(', ')}`);
    }
    if (port.name === '' && service.ports.length > 1) {
      throw new ObjectProblem(`${path}.name`, 'is required where there are several ports');
    }
    if (names.has(port.name)) throw new ObjectProblem(`${path}.name`, 'is used by two ports');
    names.add(port.name);
  }
}

/** The checks of kube-apiserver whose failure would leave a slice without effect. Throws ObjectProblem. */
export function checkEndpointSlice(slice: EndpointSlice): void {
  if (!['IPv4', 'IPv6', 'FQDN'].includes(slice.addressType)) {
    throw new ObjectProblem('addressType', 'must be IPv4, IPv6 or FQDN');
  }
  for (const [i, { port }] of slice.ports.entries()) {
    if (port !== undefined && (port < 1 || port > 65_535)) {
      throw new ObjectProblem(`ports[${i}].port`, 'must be from 1 to 65535');
    }
  }
}
