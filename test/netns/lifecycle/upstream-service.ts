import { hash } from 'node:crypto';

/** One port of a Service, as far as kube-proxy's rules show it; all of one address family. */
export interface UpstreamService {
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly protocol: 'tcp' | 'udp';
  readonly clusterIP: string;
  readonly port: number;
  readonly nodePort?: number;
  readonly endpoints: readonly UpstreamEndpoint[];
  /** Session affinity ClientIP with its time-out in seconds. */
  readonly affinitySeconds?: number;
}

export interface UpstreamEndpoint {
  readonly ip: string;
  readonly port: number;
  /** Clients that stick to this endpoint. */
  readonly clients?: readonly string[];
}

/** The first characters of the base32 text of a SHA-256 hash, which end in the names of kube-proxy's objects. */
export function hashText(input: string, length: number): string {
  let bits = 0;
  let width = 0;
  let text = '';
  for (const byte of hash('sha256', input, 'buffer')) {
    bits = (bits << 8) | byte;
    width += 8;
    while (width >= 5) {
      width -= 5;
      text += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[(bits >> width) & 31];
      bits &= (1 << width) - 1;
    }
  }
  return text.slice(0, length);
}

/** `namespace/name:port`, without the port where it has no name. */
export function printableName({ namespace, name, portName }: UpstreamService): string {
  return portName === '' ? `${namespace}/${name}` : `${namespace}/${name}:${portName}`;
}

/** `ip:port`, IPv6 in brackets. */
export function endpointText({ ip, port }: UpstreamEndpoint): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}
