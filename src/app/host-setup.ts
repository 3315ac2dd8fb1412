import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { describeError } from '../base/fairlead-error.ts';
import type { Logger } from '../base/logger.ts';
import type { ConntrackConfiguration } from '../config/proxy-configuration.ts';
import { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import { conntrackSettings } from '../model/conntrack-settings.ts';

const NETFILTER = '/proc/sys/net/netfilter';
const ROUTE_LOCALNET = '/proc/sys/net/ipv4/conf/all/route_localnet';
const HASH_SIZE = '/sys/module/nf_conntrack/parameters/hashsize';

/**
 * Sets the conntrack sysctls (operations 3.7). Where that is not permitted, as in containers without privileges, it
 * warns with what an operator can do instead, and goes on: kube-proxy would end here. Returns the paths of what is not as
 * wanted.
 */
export function applyConntrackSettings(
  config: ConntrackConfiguration,
  sysctls: Sysctls,
  logger: Logger,
): readonly string[] {
  const { sysctls: wanted, minHashSize } = conntrackSettings(config, onlineCpus());
  const refused = wanted.flatMap(({ name, value }) => set(`${NETFILTER}/${name}`, value, sysctls, logger));
  if (minHashSize === undefined) return refused;
  try {
    if (Number(sysctls.read(HASH_SIZE)) >= minHashSize) return refused;
  } catch {
    // Unreadable: the attempt to write tells why.
  }
  return [...refused, ...set(HASH_SIZE, minHashSize, sysctls, logger)];
}

/**
 * Has the kernel load its connection tracking, a module on most distributions: before, there are no settings to make, and
 * the first rules that would load it come later. Does nothing where it cannot; then the settings say what is wrong.
 */
export function loadConntrack(open: () => ConntrackConnection = () => ConntrackConnection.open()): void {
  try {
    const connection = open();
    try {
      connection.countFlows();
    } finally {
      connection.close();
    }
  } catch {
    // The settings fail with a warning that names them.
  }
}

/** Makes the kernel's out-of-memory killer spare this process (operations 3.11). */
export function applyOomScore(score: number, sysctls: Sysctls, logger: Logger): void {
  try {
    sysctls.write('/proc/self/oom_score_adj', String(score));
  } catch (error) {
    logger.verbose(2, 'The out-of-memory score stays as it is', { err: describeError(error) });
  }
}

/** Lets connections to node ports of 127.0.0.1 leave this node (spec B.1.0). Never set back. Returns its path where it is refused. */
export function enableRouteLocalnet(sysctls: Sysctls, logger: Logger): readonly string[] {
  return set(ROUTE_LOCALNET, 1, sysctls, logger);
}

/** Returns the path when the kernel refuses the value. */
function set(path: string, value: number, sysctls: Sysctls, logger: Logger): readonly string[] {
  try {
    if (sysctls.read(path) === String(value)) return [];
  } catch {
    // An unreadable setting counts as different.
  }
  try {
    sysctls.write(path, String(value));
    logger.info('Set sysctl', { path, value });
    return [];
  } catch (error) {
    logger.warn('A kernel setting stays as it is: set it on the host, or leave it out of the configuration', {
      path,
      wanted: value,
      err: describeError(error),
    });
    return [path];
  }
}

/** Online logical CPUs as the kernel lists them; a container's CPU limit does not count. */
function onlineCpus(): number {
  try {
    const count = readdirSync('/sys/devices/system/cpu').filter((name) => /^cpu[0-9]+$/.test(name)).length;
    if (count > 0) return count;
  } catch {
    // No sysfs: the run-time's count has to do.
  }
  return cpus().length;
}
