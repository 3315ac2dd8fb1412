import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyConfiguration, ProxyMode } from '../config/proxy-configuration.ts';
import { NftablesProxier } from '../dataplane/nftables/nftables-proxier.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { AppError } from './app-error.ts';

export interface ModeDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something else changed what this mode keeps in the kernel. */
  readonly onForeignEdit: (family: IpFamily, what: string) => void;
}

/** The proxiers of a mode, one per family. */
export interface ModeProxiers {
  proxier(family: IpFamily): Proxier;
  close(): void;
}

/** Builds the proxiers of the configured mode. Throws AppError for modes that are not available, and what the kernel says. */
export function openMode(
  config: ProxyConfiguration,
  families: readonly IpFamily[],
  dependencies: ModeDependencies,
): ModeProxiers {
  switch (config.mode) {
    case 'nftables':
      return openNftables(families, dependencies);
    default:
      throw notAvailable(config.mode);
  }
}

function openNftables(families: readonly IpFamily[], { clock, logger }: ModeDependencies): ModeProxiers {
  const kernel = NftablesConnection.open();
  const proxiers = new Map<IpFamily, Proxier>();
  for (const family of families)
    proxiers.set(family, new NftablesProxier({ family }, { kernel, clock, logger }));
  return { proxier: (family) => proxiers.get(family)!, close: () => kernel.close() };
}

function notAvailable(mode: ProxyMode): AppError {
  return new AppError(
    { code: 'APP_MODE_NOT_AVAILABLE', mode },
    `proxy mode ${mode} is not available in this release: choose nftables or iptables`,
  );
}
