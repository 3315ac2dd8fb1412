import type { DataType } from '../../kernel/nftables/data-type.ts';
import type { NftMap, NftSet } from '../../kernel/nftables/objects.ts';
import { daddr, type Selector, thDport } from '../../kernel/nftables/selector/selector.ts';
import type { NftFamily } from './family-terms.ts';
import { nodePortKey, serviceKey, slotKey } from './family-terms.ts';
import { SETS, type SetName } from './names.ts';

/** Every named set and map of a table by name, without sizes (spec A6; the endpoint maps are ours). */
export function namedSets(family: NftFamily): ReadonlyMap<SetName, NftSet | NftMap> {
  const address: DataType = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const service = { type: [address, 'inet_proto', 'inet_service'] } as const;
  const nodePort = { type: ['inet_proto', 'inet_service'] } as const;
  const verdicts = (name: SetName, key: NftMap['key'], comment: string): NftMap => ({
    kind: 'map',
    name,
    key,
    data: 'verdict',
    comment,
  });
  // The modulus in a key's typeof only tells nft that the field is a number; 2 stands for any.
  const endpoints = (name: SetName, key: readonly Selector[], comment: string): NftMap => ({
    kind: 'map',
    name,
    key: { typeof: slotKey(key, 2) },
    data: { typeof: [daddr(family), thDport] },
    comment,
  });
  const all: (NftSet | NftMap)[] = [
    { kind: 'set', name: SETS.clusterIPs, key: { type: [address] }, comment: 'Active ClusterIPs' },
    {
      kind: 'set',
      name: SETS.hairpin,
      key: { type: [address, address, 'inet_proto', 'inet_service'] },
      comment: 'service hairpin connections',
    },
    verdicts(SETS.serviceIPs, service, 'ClusterIP, ExternalIP and LoadBalancer IP traffic'),
    verdicts(SETS.serviceNodePorts, nodePort, 'NodePort traffic'),
    verdicts(
      SETS.noEndpointServices,
      service,
      'vmap to drop or reject packets to services with no endpoints',
    ),
    verdicts(
      SETS.noEndpointNodePorts,
      nodePort,
      'vmap to drop or reject packets to service nodeports with no endpoints',
    ),
    verdicts(SETS.firewallIPs, service, 'destinations that are subject to LoadBalancerSourceRanges'),
    endpoints(
      SETS.clusterEndpoints,
      serviceKey(family),
      'endpoints of each address, for traffic policy Cluster',
    ),
    endpoints(SETS.localEndpoints, serviceKey(family), 'endpoints of each address on this node'),
    endpoints(
      SETS.nodePortClusterEndpoints,
      nodePortKey,
      'endpoints of each node port, for traffic policy Cluster',
    ),
    endpoints(SETS.nodePortLocalEndpoints, nodePortKey, 'endpoints of each node port on this node'),
  ];
  return new Map(all.map((set) => [set.name as SetName, set]));
}

/** Addresses of this node that take NodePort traffic; exists only where they are restricted. */
export function nodePortIPs(family: NftFamily): NftSet {
  return {
    kind: 'set',
    name: SETS.nodePortIPs,
    key: { type: [family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'] },
    comment: 'IPs that accept NodePort traffic',
  };
}
