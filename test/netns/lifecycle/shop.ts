import type { TestObject } from './api-server-process.ts';
import type { NodeBed } from './node-bed.ts';
import { node, service, serviceCIDR, slice } from './objects.ts';
import type { FlowReport, FlowSpec } from './traffic.ts';
import { upstreamIptables } from './upstream-iptables.ts';
import { upstreamNftables } from './upstream-nftables.ts';
import type { UpstreamService } from './upstream-service.ts';

/** Addresses of the Services in {@link shop}. */
export const WEB = '10.96.0.10';
const WEB6 = 'fd00:10:96::10';
const STICKY = '10.96.0.11';
const DNS = '10.96.0.12';
export const WEB_NODE_PORT = 30080;

/** A small cluster: a dual-stack web Service with a node port, one with ClientIP affinity, one on UDP. */
export function shop(): TestObject[] {
  return [
    node(),
    serviceCIDR('kubernetes', ['10.96.0.0/16', 'fd00:10:96::/112']),
    service('web', WEB, { clusterIPs: [WEB, WEB6], nodePort: WEB_NODE_PORT }),
    slice('web', ['10.244.1.2', '10.244.1.3']),
    slice('web', ['fd00:244:1::2', 'fd00:244:1::3'], { name: 'web-6' }),
    service('sticky', STICKY, { sessionAffinity: 'ClientIP' }),
    slice('sticky', ['10.244.1.2', '10.244.1.3', '10.244.1.12', '10.244.1.13']),
    service('dns', DNS, { protocol: 'UDP', port: 53, targetPort: 5353 }),
    slice('dns', ['10.244.1.2', '10.244.1.3'], { protocol: 'UDP', port: 5353 }),
  ];
}

/** {@link shop} as kube-proxy sees one family of it. `stuckTo` is the endpoint of `sticky` that the client has. */
function shopServices(family: 'ip' | 'ip6', stuckTo?: string): UpstreamService[] {
  const common = { namespace: 'default', portName: 'main' };
  const web = { ...common, name: 'web', protocol: 'tcp', port: 80, nodePort: WEB_NODE_PORT } as const;
  const at = (port: number, ...ips: readonly string[]) => ips.map((ip) => ({ ip, port }));
  if (family === 'ip6')
    return [{ ...web, clusterIP: WEB6, endpoints: at(8080, 'fd00:244:1::2', 'fd00:244:1::3') }];
  const sticky = at(8080, '10.244.1.12', '10.244.1.13', '10.244.1.2', '10.244.1.3');
  return [
    { ...web, clusterIP: WEB, endpoints: at(8080, '10.244.1.2', '10.244.1.3') },
    {
      ...common,
      name: 'sticky',
      protocol: 'tcp',
      clusterIP: STICKY,
      port: 80,
      affinitySeconds: 10800,
      endpoints: sticky.map((each) => (each.ip === stuckTo ? { ...each, clients: ['172.31.0.50'] } : each)),
    },
    {
      ...common,
      name: 'dns',
      protocol: 'udp',
      clusterIP: DNS,
      port: 53,
      endpoints: at(5353, '10.244.1.2', '10.244.1.3'),
    },
  ];
}

/** The ruleset of kube-proxy's nftables mode for {@link shop}, both families: input for `nft -f`. */
export function shopNftables(stuckTo?: string): string {
  const node = { ip: ['172.31.0.11'], ip6: ['fd00:31::11'] };
  const cidrs = { ip: ['10.96.0.0/16', '10.244.0.0/16'], ip6: ['fd00:10:96::/112', 'fd00:244::/32'] };
  return (['ip', 'ip6'] as const)
    .map((family) =>
      upstreamNftables({
        family,
        serviceCIDR: cidrs[family][0]!,
        podCIDR: cidrs[family][1]!,
        nodePortIPs: node[family],
        services: shopServices(family, stuckTo),
      }),
    )
    .join('');
}

/** Writes the rules of kube-proxy's iptables mode for {@link shop}, both families, through one back-end. */
export async function writeShopIptables(bed: NodeBed, backend: 'nft' | 'legacy'): Promise<void> {
  const env = ['env', `XTABLES_LOCKFILE=${bed.lockFile}`];
  const ip = upstreamIptables({
    podCIDR: '10.244.0.0/16',
    services: shopServices('ip'),
    localhostNodePorts: true,
  });
  await bed.run([...env, `iptables-${backend}-restore`, '--noflush'], ip);
  const ip6 = upstreamIptables({ podCIDR: 'fd00:244::/32', services: shopServices('ip6') });
  await bed.run([...env, `ip6tables-${backend}-restore`, '--noflush'], ip6);
}

/** Clients of all kinds for {@link shop}: new connections each 5 ms, held ones each 20 ms. */
export const shopTraffic = {
  clusterIP: { kind: 'connect', host: WEB, port: 80, everyMilliseconds: 5 },
  nodePort: { kind: 'connect', host: '172.31.0.11', port: WEB_NODE_PORT, everyMilliseconds: 5 },
  ipv6: { kind: 'connect', host: WEB6, port: 80, everyMilliseconds: 20 },
  sticky: { kind: 'connect', host: STICKY, port: 80, everyMilliseconds: 20 },
  held: { kind: 'hold', host: WEB, port: 80, everyMilliseconds: 20 },
  udp: { kind: 'datagrams', host: DNS, port: 53, everyMilliseconds: 20 },
} as const satisfies Record<string, FlowSpec>;

/** What of {@link shopTraffic} went wrong; empty when each request was answered, and by one server where it has to be one. */
export function disturbances(reports: Readonly<Record<string, FlowReport>>): string[] {
  return Object.entries(reports).flatMap(([name, { sent, answered, servers, failures }]) => {
    const wrong = failures.map((failure) => `${name}: ${failure}`);
    if (answered < sent) wrong.push(`${name}: ${sent - answered} of ${sent} without answer`);
    const one = name === 'sticky' || name === 'held' || name === 'udp';
    if (one && Object.keys(servers).length !== 1)
      wrong.push(`${name}: answered by ${JSON.stringify(servers)}`);
    return wrong;
  });
}
