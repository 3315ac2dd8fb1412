import { define, into } from './flag-definition.ts';
import { boolFlag, durationFlag, int32Flag, ipFlag, listFlag, stringFlag } from './flag-type.ts';

const second = 1_000;

/** Flags about how Services are programmed (operations 1.2). */
export const proxyFlags = {
  'proxy-mode': define(
    stringFlag,
    '',
    'Proxying',
    'How Services are programmed: iptables (default) or nftables; this release cannot run ipvs and userspace yet.',
    {
      field: 'mode',
      set: into('mode'),
    },
  ),
  'masquerade-all': define(
    boolFlag,
    false,
    'Proxying',
    'Masquerade all traffic to cluster IPs. Some network plugins need it.',
    {
      field: 'iptables.masqueradeAll, nftables.masqueradeAll',
      set: into('masqueradeAll'),
    },
  ),
  'bind-address': define(
    ipFlag,
    '0.0.0.0',
    'Proxying',
    'Primary IP of the node, instead of the one in the Node object. No socket is bound to it.',
    {
      field: 'bindAddress',
      set: into('bindAddress'),
    },
  ),

  'nodeport-addresses': define(
    listFlag,
    [],
    'NodePorts',
    "CIDRs of the node addresses that accept NodePort connections, or the word 'primary' for the primary node IPs. Empty means all addresses; in nftables mode empty means primary.",
    {
      field: 'nodePortAddresses',
      set: into('nodePortAddresses'),
    },
  ),
  'iptables-localhost-nodeports': define(
    boolFlag,
    true,
    'NodePorts',
    'Let NodePorts be reached over localhost (iptables mode and IPv4 only).',
    {
      field: 'iptables.localhostNodePorts',
      set: into('iptables', 'localhostNodePorts'),
    },
  ),

  'detect-local-mode': define(
    stringFlag,
    '',
    'Traffic of local pods',
    'How packets of pods on this node are told from others: ClusterCIDR (default), NodeCIDR, BridgeInterface or InterfaceNamePrefix.',
    {
      field: 'detectLocalMode',
      set: into('detectLocalMode'),
    },
  ),
  'cluster-cidr': define(
    stringFlag,
    '',
    'Traffic of local pods',
    'Pod network of the cluster, or IPv4,IPv6 pair without blanks. Used with ClusterCIDR.',
    {
      field: 'clusterCIDR',
      set: (config, value) => {
        config.detectLocal.clusterCIDRs = value.split(',');
      },
    },
  ),
  'pod-bridge-interface': define(
    stringFlag,
    '',
    'Traffic of local pods',
    'Bridge that pods of this node are attached to. Used with BridgeInterface.',
    {
      field: 'detectLocal.bridgeInterface',
      set: into('detectLocal', 'bridgeInterface'),
    },
  ),
  'pod-interface-name-prefix': define(
    stringFlag,
    '',
    'Traffic of local pods',
    'Start of the names of pod interfaces. Used with InterfaceNamePrefix.',
    {
      field: 'detectLocal.interfaceNamePrefix',
      set: into('detectLocal', 'interfaceNamePrefix'),
    },
  ),

  'iptables-sync-period': define(
    durationFlag,
    30 * second,
    'iptables mode (nftables and userspace mode use the sync periods too)',
    'Delay before a failed sync is tried again; half of the time after which a stuck proxy counts as unhealthy.',
    {
      field: 'iptables.syncPeriod, nftables.syncPeriod',
    },
  ),
  'iptables-min-sync-period': define(
    durationFlag,
    second,
    'iptables mode (nftables and userspace mode use the sync periods too)',
    'Shortest time between two syncs; 0 syncs at every change.',
    {
      field: 'iptables.minSyncPeriod, nftables.minSyncPeriod',
    },
  ),
  'iptables-masquerade-bit': define(
    int32Flag,
    14,
    'iptables mode (nftables and userspace mode use the sync periods too)',
    'Bit of the packet mark for packets to be masqueraded, 0 to 31. ipvs mode uses it too.',
    {
      field: 'iptables.masqueradeBit',
      set: into('iptables', 'masqueradeBit'),
    },
  ),

  'ipvs-sync-period': define(durationFlag, 30 * second, 'ipvs mode', 'Longest time between two syncs.', {
    field: 'ipvs.syncPeriod',
  }),
  'ipvs-min-sync-period': define(
    durationFlag,
    second,
    'ipvs mode',
    'Shortest time between two syncs; 0 syncs at every change.',
    { field: 'ipvs.minSyncPeriod' },
  ),
  'ipvs-scheduler': define(
    stringFlag,
    '',
    'ipvs mode',
    'IPVS scheduler such as rr, lc or sh; empty means rr.',
    {
      field: 'ipvs.scheduler',
      set: into('ipvs', 'scheduler'),
    },
  ),
  'ipvs-exclude-cidrs': define(
    listFlag,
    [],
    'ipvs mode',
    'CIDRs of virtual servers that are not ours and must be left alone.',
    {
      field: 'ipvs.excludeCIDRs',
      set: into('ipvs', 'excludeCIDRs'),
    },
  ),
  'ipvs-strict-arp': define(boolFlag, false, 'ipvs mode', 'Set arp_ignore to 1 and arp_announce to 2.', {
    field: 'ipvs.strictARP',
    set: into('ipvs', 'strictARP'),
  }),
  'ipvs-tcp-timeout': define(
    durationFlag,
    0,
    'ipvs mode',
    'Timeout of idle TCP connections; 0 leaves it as it is.',
    {
      field: 'ipvs.tcpTimeout',
      set: into('ipvs', 'tcpTimeout'),
    },
  ),
  'ipvs-tcpfin-timeout': define(
    durationFlag,
    0,
    'ipvs mode',
    'Timeout of TCP connections after a FIN; 0 leaves it as it is.',
    {
      field: 'ipvs.tcpFinTimeout',
      set: into('ipvs', 'tcpFinTimeout'),
    },
  ),
  'ipvs-udp-timeout': define(durationFlag, 0, 'ipvs mode', 'Timeout of UDP flows; 0 leaves it as it is.', {
    field: 'ipvs.udpTimeout',
    set: into('ipvs', 'udpTimeout'),
  }),
};
