import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { servicePortBase } from '../../src/dataplane/nftables/private-names.ts';
import { syntheticService, syntheticSlice } from './synthetic-cluster.ts';

/**
 * Writes a ruleset for `nft -f` in the shape that kube-proxy programs for the same Services (spec A10): one chain with one
 * rule and one anonymous map for each. To compare with what loading it costs.
 */
export async function writeUpstreamRuleset(file: string, services: number, endpoints: number): Promise<void> {
  const out = createWriteStream(file);
  const write = async (text: string) => {
    if (!out.write(text)) await once(out, 'drain');
  };
  await write(`add table ip kube-proxy
add chain ip kube-proxy services
add chain ip kube-proxy nat-prerouting { type nat hook prerouting priority -100 ; }
add chain ip kube-proxy nat-output { type nat hook output priority -100 ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add rule ip kube-proxy nat-prerouting jump services
add rule ip kube-proxy nat-output jump services
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
`);
  for (let i = 0; i < services; i++) {
    const { namespace, name, clusterIP } = syntheticService(i);
    const chain = `service-${servicePortBase({ namespace, name, protocol: 'TCP', portName: 'http' })}`;
    const targets = syntheticSlice(i, endpoints, 1).endpoints.map(
      (endpoint, n) => `${n} : ${endpoint.address} . 8080`,
    );
    await write(`add chain ip kube-proxy ${chain}
add rule ip kube-proxy ${chain} meta l4proto tcp dnat ip addr . port to numgen random mod ${endpoints} map { ${targets.join(' , ')} }
add element ip kube-proxy cluster-ips { ${clusterIP} }
add element ip kube-proxy service-ips { ${clusterIP} . tcp . 80 : goto ${chain} }
`);
  }
  out.end();
  await once(out, 'finish');
}
