import { NfacctConnection } from '../kernel/nfacct/nfacct-connection.ts';
import { registerNfacctMetrics } from '../metrics/proxy-metrics.ts';
import type { Registry } from '../metrics/registry.ts';

/** Names that kube-proxy gives its packet counters (spec B.1.0). */
const CT_STATE_INVALID_DROPPED = 'ct_state_invalid_dropped_pkts';
const LOCALHOST_NODE_PORTS_ACCEPTED = 'localhost_nps_accepted_pkts';

export interface PacketCounters {
  /** Creates the counters of these names; returns them. Throws NetlinkError where the kernel has no nfacct. */
  ensure(names: readonly string[]): Promise<ReadonlySet<string>>;
  close(): void;
}

/**
 * The named packet counters of the kernel (nfacct), read at each scrape of the metrics. Counters that do not exist leave
 * their metric out.
 */
export function openPacketCounters(registry: Registry): PacketCounters {
  const connection = NfacctConnection.open();
  const existing = new Set<string>();
  const read = (name: string) => () =>
    existing.has(name) ? [[{}, Number(connection.getCounter(name).packets)] as const] : [];
  registerNfacctMetrics(registry, {
    ctStateInvalidDropped: read(CT_STATE_INVALID_DROPPED),
    localhostNodePortsAccepted: read(LOCALHOST_NODE_PORTS_ACCEPTED),
  });
  return {
    async ensure(names) {
      for (const name of names) {
        connection.ensureCounter(name);
        existing.add(name);
      }
      return new Set(names);
    },
    close: () => connection.close(),
  };
}
