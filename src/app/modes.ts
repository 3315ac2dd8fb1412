import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyConfiguration, ProxyMode } from '../config/proxy-configuration.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import type { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import type { Registry } from '../metrics/registry.ts';
import { AppError } from './app-error.ts';

export interface ModeDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sysctls: Sysctls;
  readonly metrics: ProxyMetrics;
  readonly registry: Registry;
  /** Something else changed what this mode keeps in the kernel. */
  readonly onForeignEdit: (family: IpFamily, what: string) => void;
  /** A ServicePort (by its key) that the kernel refused was left out of the rules. */
  readonly onSetAside: (servicePort: string, reason: string) => void;
}

/** The proxiers of a mode. */
export interface OpenMode {
  /** Families that this mode can serve on this host, with their proxiers. */
  readonly proxiers: ReadonlyMap<IpFamily, Proxier>;
  /** Removes what this mode has left elsewhere; for when a family is served. Resolves to what could not be removed. */
  readonly removeLeftovers?: (family: IpFamily) => Promise<readonly unknown[]>;
  close(): void;
}

/**
 * Builds the proxiers of the configured mode; modes that are not used are not even loaded. Throws AppError for modes
 * that are not available, and what the kernel says.
 */
export async function openMode(
  config: ProxyConfiguration,
  families: readonly IpFamily[],
  dependencies: ModeDependencies,
): Promise<OpenMode> {
  switch (config.mode) {
    case 'nftables': {
      const { openNftablesMode } = await import('./nftables-mode.ts');
      return openNftablesMode(families, dependencies);
    }
    case 'iptables': {
      const { openIptablesMode } = await import('./iptables-mode.ts');
      return openIptablesMode(config, families, dependencies);
    }
    default:
      throw notAvailable(config.mode);
  }
}

function notAvailable(mode: ProxyMode): AppError {
  return new AppError(
    { code: 'APP_MODE_NOT_AVAILABLE', mode },
    `proxy mode ${mode} is not available in this release: choose nftables or iptables`,
  );
}
