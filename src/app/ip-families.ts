import { existsSync } from 'node:fs';
import type { IpFamily } from '../base/ip.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import { AppError } from './app-error.ts';

/**
 * The families this kernel has (operations 3.4): IPv4 always, IPv6 unless it is missing or switched off. `exists` tells
 * whether there is a file of that path.
 */
export function supportedFamilies(
  sysctls: Pick<Sysctls, 'read'>,
  exists: (path: string) => boolean = existsSync,
): readonly IpFamily[] {
  return hasIPv6(sysctls, exists) ? ['IPv4', 'IPv6'] : ['IPv4'];
}

/** Throws AppError where the node's primary family cannot be served: without it the proxy would serve the wrong one. */
export function requirePrimaryFamily(family: IpFamily, served: Iterable<IpFamily>): void {
  if ([...served].includes(family)) return;
  throw new AppError(
    { code: 'APP_FAMILY_NOT_SUPPORTED', family },
    `this host does not support the primary family of its node, ${family}`,
  );
}

function hasIPv6(sysctls: Pick<Sysctls, 'read'>, exists: (path: string) => boolean): boolean {
  if (!exists('/proc/net/if_inet6')) return false;
  try {
    return sysctls.read('/proc/sys/net/ipv6/conf/all/disable_ipv6') !== '1';
  } catch {
    return true;
  }
}
