/** Names of the objects in our tables that do not depend on a Service. Operators know them from kube-proxy (spec A3, A5, A6). */
export const TABLE = 'kube-proxy';
export const TABLE_COMMENT = 'rules for kube-proxy';

export const SETS = {
  clusterIPs: 'cluster-ips',
  nodePortIPs: 'nodeport-ips',
  hairpin: 'hairpin-connections',
  serviceIPs: 'service-ips',
  serviceNodePorts: 'service-nodeports',
  noEndpointServices: 'no-endpoint-services',
  noEndpointNodePorts: 'no-endpoint-nodeports',
  firewallIPs: 'firewall-ips',
  /** Ours: the endpoints behind each frontend, by slot (see slots.ts). */
  clusterEndpoints: 'cluster-endpoints',
  localEndpoints: 'local-endpoints',
  nodePortClusterEndpoints: 'nodeport-cluster-endpoints',
  nodePortLocalEndpoints: 'nodeport-local-endpoints',
} as const;

export type SetName = (typeof SETS)[keyof typeof SETS];

export const CHAINS = {
  filterPreroutingPreDnat: 'filter-prerouting-pre-dnat',
  filterOutputPreDnat: 'filter-output-pre-dnat',
  filterInput: 'filter-input',
  filterForward: 'filter-forward',
  filterOutput: 'filter-output',
  natPrerouting: 'nat-prerouting',
  natOutput: 'nat-output',
  natPostrouting: 'nat-postrouting',
  services: 'services',
  serviceEndpointsCheck: 'service-endpoints-check',
  nodePortEndpointsCheck: 'nodeport-endpoints-check',
  firewallCheck: 'firewall-check',
  clusterIPsCheck: 'cluster-ips-check',
  masquerading: 'masquerading',
  reject: 'reject-chain',
} as const;
