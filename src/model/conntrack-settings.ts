/** Conntrack part of the configuration; times in milliseconds, zero or less leaves a setting as it is. */
export interface ConntrackInput {
  readonly maxPerCore: number;
  readonly min: number;
  readonly tcpEstablishedTimeout: number;
  readonly tcpCloseWaitTimeout: number;
  readonly tcpBeLiberal: boolean;
  readonly udpTimeout: number;
  readonly udpStreamTimeout: number;
}

/** A setting below `/proc/sys/net/netfilter/`. */
export interface ConntrackSysctl {
  readonly name: string;
  readonly value: number;
}

/** What to do to conntrack, in this order (operations 3.7). */
export interface ConntrackSettings {
  /**
   * Number of buckets that the hash table must at least have (`/sys/module/nf_conntrack/parameters/hashsize`), to be
   * looked at after `nf_conntrack_max` is set; `undefined` when that is left alone.
   */
  readonly minHashSize: number | undefined;
  readonly sysctls: readonly ConntrackSysctl[];
}

/** Upper bound of the limit that is scaled by cores; it wins over a larger minimum too. */
const largestScaledMax = 1_048_576;

/** The limit on tracked connections, or 0 to leave it alone: the kernel's per-core share, but not below `min`. */
export function conntrackMax(maxPerCore: number, min: number, cpus: number): number {
  if (maxPerCore <= 0) return 0;
  const scaled = maxPerCore * cpus;
  return scaled > largestScaledMax ? largestScaledMax : Math.max(scaled, min);
}

/** Computes the settings for a machine with `cpus` online logical CPUs. Timeouts are whole seconds, truncated. */
export function conntrackSettings(config: ConntrackInput, cpus: number): ConntrackSettings {
  const max = conntrackMax(config.maxPerCore, config.min, cpus);
  const sysctls: ConntrackSysctl[] = [];
  const addTimeout = (name: string, milliseconds: number) => {
    if (milliseconds > 0) sysctls.push({ name, value: Math.trunc(milliseconds / 1000) });
  };
  if (max > 0) sysctls.push({ name: 'nf_conntrack_max', value: max });
  addTimeout('nf_conntrack_tcp_timeout_established', config.tcpEstablishedTimeout);
  addTimeout('nf_conntrack_tcp_timeout_close_wait', config.tcpCloseWaitTimeout);
  if (config.tcpBeLiberal) sysctls.push({ name: 'nf_conntrack_tcp_be_liberal', value: 1 });
  addTimeout('nf_conntrack_udp_timeout', config.udpTimeout);
  addTimeout('nf_conntrack_udp_timeout_stream', config.udpStreamTimeout);
  return { minHashSize: max > 0 ? Math.floor(max / 4) : undefined, sysctls };
}
