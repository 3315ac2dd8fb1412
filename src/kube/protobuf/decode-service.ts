import { DecodeError } from '../decode-error.ts';
import { noHints } from '../endpoint-slice.ts';
import type { Mutable } from '../mutable.ts';
import type { LoadBalancerIngress, Service, ServicePort } from '../service.ts';
import { strings } from '../string-table.ts';
import { decodeObjectMeta } from './decode-object-meta.ts';
import type { WireReader } from './wire-reader.ts';

const noPorts: readonly ServicePort[] = [];
const noIngress: readonly LoadBalancerIngress[] = [];

/** Reads a core/v1 Service message (field numbers: k8s.io/api/core/v1/generated.proto). Throws DecodeError. */
export function decodeService(reader: WireReader): Service {
  const service: Mutable<Service> = {
    namespace: '',
    name: '',
    resourceVersion: '',
    creationTimestamp: 0,
    type: '',
    clusterIP: '',
    clusterIPs: noHints,
    ipFamilies: noHints,
    ports: noPorts,
    externalIPs: noHints,
    sessionAffinity: '',
    affinityTimeoutSeconds: undefined,
    loadBalancerSourceRanges: noHints,
    loadBalancerIngress: noIngress,
    externalTrafficPolicy: '',
    internalTrafficPolicy: '',
    healthCheckNodePort: 0,
  };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1: {
        const meta = decodeObjectMeta(reader, {});
        service.namespace = meta.namespace;
        service.name = meta.name;
        service.resourceVersion = meta.resourceVersion;
        service.creationTimestamp = meta.creationTimestamp;
        break;
      }
      case 2:
        decodeSpec(reader, service);
        break;
      case 3:
        decodeStatus(reader, service);
        break;
      default:
        reader.skip();
    }
  }
  if (service.name === '' || service.namespace === '')
    throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'Service' });
  return service;
}

function decodeSpec(reader: WireReader, service: Mutable<Service>): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        service.ports = append(service.ports, decodePort(reader));
        break;
      case 3:
        service.clusterIP = reader.string();
        break;
      case 4:
        service.type = reader.sharedString();
        break;
      case 5:
        service.externalIPs = append(service.externalIPs, reader.string());
        break;
      case 7:
        service.sessionAffinity = reader.sharedString();
        break;
      case 9:
        service.loadBalancerSourceRanges = append(service.loadBalancerSourceRanges, reader.string());
        break;
      case 11:
        service.externalTrafficPolicy = reader.sharedString();
        break;
      case 12:
        service.healthCheckNodePort = reader.int32();
        break;
      case 14:
        service.affinityTimeoutSeconds = decodeAffinityTimeout(reader);
        break;
      case 18:
        service.clusterIPs = append(service.clusterIPs, reader.string());
        break;
      case 19: {
        const family = reader.sharedString();
        // Most Services have one family: the list is shared, and copied before a second one is added.
        service.ipFamilies =
          service.ipFamilies.length === 0 ? strings.single(family) : [...service.ipFamilies, family];
        break;
      }
      case 22:
        service.internalTrafficPolicy = reader.sharedString();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
}

function decodePort(reader: WireReader): ServicePort {
  const port: Mutable<ServicePort> = { name: '', protocol: 'TCP', port: 0, nodePort: 0 };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        port.name = reader.sharedString();
        break;
      case 2:
        port.protocol = reader.sharedString() || 'TCP';
        break;
      case 3:
        port.port = reader.int32();
        break;
      case 5:
        port.nodePort = reader.int32();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return port;
}

/** `sessionAffinityConfig.clientIP.timeoutSeconds`: a value two messages deep. */
function decodeAffinityTimeout(reader: WireReader): number | undefined {
  let timeout: number | undefined;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const config = reader.enter();
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1) timeout = reader.int32();
      else reader.skip();
    }
    reader.leave(config);
  }
  reader.leave(outer);
  return timeout;
}

function decodeStatus(reader: WireReader, service: Mutable<Service>): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const loadBalancer = reader.enter();
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1)
        service.loadBalancerIngress = append(service.loadBalancerIngress, decodeIngress(reader));
      else reader.skip();
    }
    reader.leave(loadBalancer);
  }
  reader.leave(outer);
}

function decodeIngress(reader: WireReader): LoadBalancerIngress {
  const ingress: Mutable<LoadBalancerIngress> = { ip: '', ipMode: '' };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        ingress.ip = reader.string();
        break;
      case 3:
        ingress.ipMode = reader.sharedString();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return ingress;
}

/** Adds to a list that starts as a shared empty one. */
function append<T>(list: readonly T[], element: T): readonly T[] {
  if (list.length === 0) return [element];
  (list as T[]).push(element);
  return list;
}
