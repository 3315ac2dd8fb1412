import { familyOf, joinHostPort, parseIp } from '../base/ip.ts';

/** Splits `host:port` or `[host]:port` as Go's net package does; `undefined` when the text is not of that form. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const parts = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(text);
  return parts === null ? undefined : { host: parts[1] ?? parts[2] ?? '', port: parts[3] ?? '' };
}

/** Adds the port to a bare IP address; anything else is returned as it is (operations 1.7). */
export function appendPortIfNeeded(address: string, port: number): string {
  if (parseIp(address) === undefined) return address;
  return joinHostPort(address, port);
}

/** Addresses that the two servers use when none are given: those of the family of `bindAddress` (operations 2.2). */
export function defaultServerAddresses(bindAddress: string): {
  readonly healthz: string;
  readonly metrics: string;
} {
  const ip = parseIp(bindAddress);
  return ip !== undefined && familyOf(ip) === 'IPv4'
    ? { healthz: '0.0.0.0:10256', metrics: '127.0.0.1:10249' }
    : { healthz: '[::]:10256', metrics: '[::1]:10249' };
}
