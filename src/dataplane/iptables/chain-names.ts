import { hash } from 'node:crypto';
import { type Endpoint, endpointString } from '../../model/endpoint.ts';
import { printableName, type ServicePort } from '../../model/service-port.ts';

/** The chains that belong to one ServicePort (spec B.1.6). */
export type PolicyChainKind =
  /** Spreads over the endpoints of the cluster. */
  | 'SVC'
  /** Spreads over the endpoints of this node. */
  | 'SVL'
  /** Entered by all that comes from outside. */
  | 'EXT'
  /** Lets the load-balancer source ranges pass. */
  | 'FW';

/** What the chain names of a ServicePort are made from: printable name and lower-case protocol. */
export function chainSeed(port: ServicePort): string {
  return printableName(port) + port.protocol.toLowerCase();
}

/** 16 characters that all chains of one ServicePort share. The same in both families. */
export function servicePortTail(port: ServicePort): string {
  return nameTail(chainSeed(port));
}

/** Name of a chain of a ServicePort, given its {@link servicePortTail}. */
export function policyChainName(kind: PolicyChainKind, tail: string): string {
  return `KUBE-${kind}-${tail}`;
}

/** Name of the chain that leads to one endpoint of a ServicePort, given the ServicePort's {@link chainSeed}. */
export function endpointChainName(seed: string, endpoint: Endpoint): string {
  return `KUBE-SEP-${nameTail(seed + endpointString(endpoint))}`;
}

/** Whether a chain of the nat table is one that belongs to a ServicePort, of this or an earlier process. */
export function isServicePortChain(chain: string): boolean {
  return /^KUBE-(?:SVC|SVL|SEP|FW|EXT)-[A-Z2-7]{16}$/.test(chain);
}

/** First 16 characters of the base32 text of a SHA-256 hash: 80 bits (spec B.1.5). */
function nameTail(input: string): string {
  // As text of one character for each byte: making a Buffer costs more than the hash itself.
  const digest = hash('sha256', input, 'binary');
  let tail = '';
  for (let at = 0; at < 10; at += 5) {
    const third = digest.charCodeAt(at + 2);
    const high = (digest.charCodeAt(at) << 12) | (digest.charCodeAt(at + 1) << 4) | (third >> 4);
    const low = ((third & 15) << 16) | (digest.charCodeAt(at + 3) << 8) | digest.charCodeAt(at + 4);
    tail += pairs[high >> 10]! + pairs[high & 1023]! + pairs[low >> 10]! + pairs[low & 1023]!;
  }
  return tail;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Two characters for each ten bits. */
const pairs = Array.from({ length: 1024 }, (_, bits) => alphabet[bits >> 5]! + alphabet[bits & 31]!);
