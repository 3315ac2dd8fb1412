import { readFileSync } from 'node:fs';
import { describeError } from '../base/fairlead-error.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyMode } from '../config/proxy-configuration.ts';
import { cleanupIptables } from '../dataplane/iptables/cleanup.ts';
import { cleanupNftables } from '../dataplane/nftables/cleanup.ts';
import { nftFamily } from '../dataplane/nftables/family-terms.ts';
import { type Iptables, openIptables } from '../kernel/iptables/iptables.ts';
import { isLockHeld, isNotInstalled } from '../kernel/iptables/iptables-error.ts';
import type { IptablesBackend } from '../kernel/iptables/iptables-version.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { deleteIpvsLink, destroyIpvsSets } from './ipvs-leftovers.ts';
import type { OpenMode } from './modes.ts';

const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

const NOT_REMOVED = 'Leftovers of another mode could not be removed';

/** The xtables lock is waited for this often, five seconds each time. */
const LOCK_ATTEMPTS = 60;

/**
 * Removes what the other modes left in one family, once this mode has taken over: connections never meet a node
 * without rules. While others hold the lock of iptables it is tried again. What cannot be removed is logged
 * (operations 3.5). Never rejects.
 */
export async function removeOtherModes(
  mode: ProxyMode,
  family: IpFamily,
  logger: Logger,
  removeLeftovers: OpenMode['removeLeftovers'],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const ofRules =
      mode === 'nftables'
        ? await removeIptables(family, logger)
        : [...removeNftables(family), ...((await removeLeftovers?.(family)) ?? [])];
    const errors = [...ofRules, ...destroyIpvsSets(family)];
    if (errors.some(isLockHeld) && attempt < LOCK_ATTEMPTS) continue;
    for (const error of errors) logger.warn(NOT_REMOVED, { ipFamily: family, err: describeError(error) });
    return;
  }
}

/** Removes what ipvs mode left for both families together, once both are served. What cannot be removed is logged. */
export function removeIpvsLink(logger: Logger): void {
  for (const error of deleteIpvsLink()) logger.warn(NOT_REMOVED, { err: describeError(error) });
}

/** Removes what every mode has ever created (`--cleanup`). Resolves to what could not be removed; logged already. */
export async function removeAllModes(logger: Logger): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  for (const family of FAMILIES) {
    errors.push(
      ...(await removeIptables(family, logger)),
      ...removeNftables(family),
      ...destroyIpvsSets(family),
    );
  }
  errors.push(...deleteIpvsLink());
  for (const error of errors) logger.error('Could not remove all rules', error);
  return errors;
}

function removeNftables(family: IpFamily): readonly unknown[] {
  let connection: NftablesConnection;
  try {
    connection = NftablesConnection.open();
  } catch {
    // A kernel without nf_tables has no leftovers there.
    return [];
  }
  try {
    cleanupNftables(connection, nftFamily(family));
    return [];
  } catch (error) {
    return [error];
  } finally {
    connection.close();
  }
}

async function removeIptables(family: IpFamily, logger: Logger): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  for (const backend of ['nft', 'legacy'] as const) {
    // Asking the programs would make the kernel load what is not in use.
    if (!(backend === 'nft' ? hasNftTables(family) : hasLegacyTables(family))) continue;
    try {
      const iptables = await openBackend(family, backend);
      if (iptables !== undefined) errors.push(...(await cleanupIptables(iptables, logger)));
      else logger.verbose(2, 'There is no iptables to clean up with', { ipFamily: family, backend });
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

/** Programs that name their back-end, or else the plain ones where theirs is this one. */
async function openBackend(family: IpFamily, backend: IptablesBackend): Promise<Iptables | undefined> {
  for (const options of [{ family, backend }, { family }]) {
    try {
      const iptables = await openIptables(options);
      if (iptables.backend === backend) return iptables;
    } catch (error) {
      if (!isNotInstalled(error)) throw error;
    }
  }
  return undefined;
}

/** Whether iptables' tables on the nft back-end hold a chain of kube-proxy. */
function hasNftTables(family: IpFamily): boolean {
  let connection: NftablesConnection | undefined;
  try {
    connection = NftablesConnection.open();
    const open = connection;
    const chains = ['nat', 'filter', 'mangle'].flatMap(
      (table) => open.listNames(nftFamily(family), table)?.chains ?? [],
    );
    return chains.some((chain) => chain.startsWith('KUBE-'));
  } catch {
    return false;
  } finally {
    connection?.close();
  }
}

/** Whether the legacy back-end has any table in this network namespace. */
function hasLegacyTables(family: IpFamily): boolean {
  try {
    const file = family === 'IPv4' ? '/proc/net/ip_tables_names' : '/proc/net/ip6_tables_names';
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}
