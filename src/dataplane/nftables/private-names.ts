import { createHash } from 'node:crypto';
import type { Endpoint } from '../../model/endpoint.ts';
import type { ServicePort } from '../../model/service-port.ts';

// Names of the objects that only some ServicePorts need (spec A7): those with affinity or source ranges. They are
// kube-proxy's names, so that affinity survives a take-over in either direction. What an object is for stands before
// the dash: service, local, external, firewall, endpoint, affinity.

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Names have at most 256 characters; 16 are kept for prefixes. */
const MAX_BASE_LENGTH = 240;

/** `HASH-ns/name/proto/port` of a ServicePort. */
export function servicePortBase(
  port: Pick<ServicePort, 'namespace' | 'name' | 'protocol' | 'portName'>,
): string {
  return withHash(`${port.namespace}/${port.name}/${port.protocol.toLowerCase()}/${port.portName}`);
}

/** `HASH-ns/name/proto/port__ip/port` of one of its endpoints; colons become dots. */
export function endpointBase(port: ServicePort, endpoint: Pick<Endpoint, 'ip' | 'port'>): string {
  const ip = endpoint.ip.replaceAll(':', '.');
  return withHash(
    `${port.namespace}/${port.name}/${port.protocol.toLowerCase()}/${port.portName}__${ip}/${endpoint.port}`,
  );
}

/** A set that remembers the clients of one endpoint. */
export function isAffinitySet(name: string): boolean {
  return name.startsWith('affinity-');
}

function withHash(text: string): string {
  const base = `${hash(text)}-${text}`;
  return base.length > MAX_BASE_LENGTH ? `${base.slice(0, MAX_BASE_LENGTH - 3)}...` : base;
}

/** The first eight characters of the base32 form of SHA-256: 40 bits. */
function hash(text: string): string {
  const digest = createHash('sha256').update(text).digest();
  let out = '';
  for (let i = 0; i < 8; i++) {
    const bit = i * 5;
    const pair = (digest[bit >> 3]! << 8) | digest[(bit >> 3) + 1]!;
    out += BASE32[(pair >> (11 - (bit & 7))) & 31];
  }
  return out;
}
