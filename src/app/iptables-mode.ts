import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/fairlead-error.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import { type ChosenIptables, chooseIptables } from '../dataplane/iptables/choose-iptables.ts';
import { type CleanupScope, cleanupIptables } from '../dataplane/iptables/cleanup.ts';
import type { RulesetChange, WatchForeignChanges } from '../dataplane/iptables/foreign-changes.ts';
import { IptablesProxier, type IptablesSyncReport } from '../dataplane/iptables/iptables-proxier.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import type { Iptables } from '../kernel/iptables/iptables.ts';
import { NETLINK_NETFILTER, openNetlinkSocket } from '../kernel/netlink/netlink-socket.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { watchRuleset } from '../kernel/nftables/watch-ruleset.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import type { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { AppError } from './app-error.ts';
import { holdTranslation } from './hold-translation.ts';
import type { ModeDependencies, OpenMode } from './modes.ts';
import { openPacketCounters } from './packet-counters.ts';

/** linux/netfilter.h: NFPROTO_IPV4, NFPROTO_IPV6. */
const FAMILY_NUMBERS: Readonly<Record<IpFamily, number>> = { IPv4: 2, IPv6: 10 };

/** Between two looks at rules that somebody keeps locked. */
const LOCK_PAUSE_MS = 500;

const TCP_BE_LIBERAL = '/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal';

/**
 * Opens the iptables mode for the families whose iptables works (operations 3.4), through the back-end that the host
 * uses. Throws AppError where none does.
 */
export async function openIptablesMode(
  config: ProxyConfiguration,
  families: readonly IpFamily[],
  dependencies: ModeDependencies,
): Promise<OpenMode> {
  const { clock, logger, sysctls, onForeignEdit, onSetAside } = dependencies;
  const usable: ChosenIptables[] = [];
  for (const family of families) {
    const chosen = await choose(family, clock, logger);
    if (chosen !== undefined) usable.push(chosen);
  }
  if (usable.length === 0) {
    throw new AppError(
      { code: 'APP_FAMILY_NOT_SUPPORTED', family: families.join(', ') },
      'iptables is not available on this host',
    );
  }
  const holder = usable.some(({ iptables }) => iptables.backend === 'nft') ? openHolder(logger) : undefined;
  const counters = openPacketCounters(dependencies.registry);
  const proxiers = new Map<IpFamily, Proxier>();
  for (const { iptables } of usable) {
    const { family } = iptables;
    const proxier = new IptablesProxier(
      {
        conntrackTcpBeLiberal: () => readsOn(sysctls, TCP_BE_LIBERAL),
        monitorIntervalMs: config.syncPeriod,
        onForeignChange: (what) => onForeignEdit(family, what),
        onSetAside: ({ servicePort, reason }) => onSetAside(servicePort, reason),
      },
      {
        iptables,
        ensureCounters: (names) => counters.ensure(names),
        clock,
        logger,
        ...(iptables.backend === 'nft' && { watchForeignChanges: rulesetChanges(family, logger) }),
      },
    );
    proxiers.set(
      family,
      measured(proxier, family, dependencies.metrics, () => {
        if (iptables.backend === 'nft') holder?.hold(family);
      }),
    );
  }
  return {
    proxiers,
    async removeLeftovers(family) {
      const chosen = usable.find(({ iptables }) => iptables.family === family);
      if (chosen === undefined) return [];
      const errors: unknown[] = [];
      const clean = async (iptables: Iptables, scope: CleanupScope) => {
        try {
          errors.push(...(await cleanupIptables(iptables, logger, scope)));
        } catch (error) {
          errors.push(error);
        }
      };
      for (const iptables of chosen.withLeftovers) await clean(iptables, 'all');
      if (chosen.mayHaveIpvsLeftovers) await clean(chosen.iptables, 'ipvs mode');
      return errors;
    },
    close() {
      for (const proxier of proxiers.values()) proxier.close();
      counters.close();
      holder?.close();
    },
  };
}

/** The iptables of a family, `undefined` where it is not installed or the kernel lacks what it needs. */
async function choose(family: IpFamily, clock: Clock, logger: Logger): Promise<ChosenIptables | undefined> {
  let chosen: ChosenIptables;
  try {
    chosen = await usable(await chooseIptables(family, { logger }), clock, logger);
  } catch (error) {
    logger.info('No iptables support for this family', { ipFamily: family, err: describeError(error) });
    return undefined;
  }
  const { backend } = chosen.iptables;
  logger.info('Using iptables', { ipFamily: family, backend, because: chosen.reason });
  for (const other of chosen.withLeftovers) {
    logger.warn('Another back-end holds rules of kube-proxy as well; they are removed after the first sync', {
      ipFamily: family,
      backend: other.backend,
    });
  }
  return chosen;
}

/** The choice, or another back-end where the kernel cannot do what was chosen: new kernels may lack the legacy tables. */
async function usable(chosen: ChosenIptables, clock: Clock, logger: Logger): Promise<ChosenIptables> {
  if (await isUsable(chosen.iptables, clock, logger)) return chosen;
  for (const iptables of chosen.others) {
    if (!(await isUsable(iptables, clock, logger))) continue;
    const reason = `the kernel has no table nat for ${chosen.iptables.backend}`;
    return { iptables, reason, others: [], withLeftovers: [], mayHaveIpvsLeftovers: true };
  }
  throw new Error('the kernel has no table nat');
}

/** A lock that somebody holds for long says nothing about the kernel: waits for it. */
async function isUsable(iptables: Iptables, clock: Clock, logger: Logger): Promise<boolean> {
  for (;;) {
    try {
      return await iptables.isUsable();
    } catch (error) {
      logger.warn('Still waiting to look at the iptables rules', {
        ipFamily: iptables.family,
        err: describeError(error),
      });
      // Old programs do not wait for the lock.
      await new Promise<void>((resolve) => clock.schedule(LOCK_PAUSE_MS, resolve));
    }
  }
}

function readsOn(sysctls: Sysctls, path: string): boolean {
  try {
    return sysctls.read(path) !== '0';
  } catch {
    return false;
  }
}

/** What keeps connections translated while the rules of the nft back-end are flushed and written again. */
function openHolder(logger: Logger): { hold(family: IpFamily): void; close(): void } | undefined {
  try {
    const connection = NftablesConnection.open();
    return { hold: holdTranslation(connection, logger), close: () => connection.close() };
  } catch (error) {
    logger.verbose(2, 'Connections will break should somebody flush the ruleset', {
      err: describeError(error),
    });
    return undefined;
  }
}

/** Adds the rule counts of each sync to the metrics, and what failed of it, also where the sync got over that. */
function measured(
  proxier: IptablesProxier,
  family: IpFamily,
  metrics: ProxyMetrics,
  onSynced: () => void,
): Proxier {
  const labels = { ip_family: family };
  let counted = proxier.failures;
  const countFailures = () => {
    const { restores, partialSyncs } = proxier.failures;
    metrics.iptablesRestoreFailures.inc(labels, restores - counted.restores);
    metrics.iptablesPartialRestoreFailures.inc(labels, partialSyncs - counted.partialSyncs);
    counted = { restores, partialSyncs };
  };
  return {
    async sync(plan, diff) {
      const report: IptablesSyncReport = await proxier.sync(plan, diff).finally(countFailures);
      for (const table of ['filter', 'nat'] as const) {
        const { total, last } = report.rules[table];
        metrics.iptablesRulesTotal.set({ table, ip_family: family }, total);
        metrics.iptablesRulesLastSync.set({ table, ip_family: family }, last);
      }
      onSynced();
      return report;
    },
    close: () => proxier.close(),
  };
}

/** Changes of iptables' tables as the kernel's nftables events tell them (nft back-end). */
function rulesetChanges(family: IpFamily, logger: Logger): WatchForeignChanges {
  return (listener) => {
    const socket = openNetlinkSocket(NETLINK_NETFILTER);
    let changes: RulesetChange[] = [];
    const watch = watchRuleset(socket, {
      onEvent(event) {
        if (event.kind === 'generation') {
          const done = changes;
          changes = [];
          for (const change of done) listener({ ...change, processName: event.processName });
        } else if (event.familyNumber === FAMILY_NUMBERS[family] && event.kind === 'delete') {
          if (event.object === 'table') changes.push({ table: event.table, chain: undefined });
          else if (event.object === 'chain' || event.object === 'rule')
            changes.push({ table: event.table, chain: event.name });
        }
      },
      onLost: () => listener({ table: 'nat', chain: undefined }),
      onError: (error) => logger.error('Changes of iptables rules by others may go unnoticed', error),
    });
    return {
      [Symbol.dispose]() {
        watch.close();
        socket.close();
      },
    };
  };
}
