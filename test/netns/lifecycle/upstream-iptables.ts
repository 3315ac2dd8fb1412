import { endpointText, hashText, printableName, type UpstreamService } from './upstream-service.ts';

export interface UpstreamIptablesOptions {
  readonly podCIDR: string;
  readonly services: readonly UpstreamService[];
  /** IPv4 only: node ports answer on loopback addresses as well. */
  readonly localhostNodePorts?: boolean;
}

/**
 * Input for `iptables-restore` that makes the rules of kube-proxy's iptables mode (v1.36), jumps and canaries included;
 * for Services with endpoints, and policies Cluster.
 */
export function upstreamIptables({
  podCIDR,
  services,
  localhostNodePorts = false,
}: UpstreamIptablesOptions): string {
  const ipv6 = podCIDR.includes(':');
  const loopback = ipv6 ? '::1/128' : '127.0.0.0/8';
  const toNode = localhostNodePorts ? '' : ` ! -d ${loopback}`;
  const ports = services.map((service) => servicePort(service, podCIDR));
  const firewall = `-A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`;
  return `${[
    '*mangle',
    ':KUBE-PROXY-CANARY - [0:0]',
    'COMMIT',
    '*filter',
    ...[
      'KUBE-SERVICES',
      'KUBE-EXTERNAL-SERVICES',
      'KUBE-FORWARD',
      'KUBE-NODEPORTS',
      'KUBE-PROXY-FIREWALL',
      'KUBE-FIREWALL',
      'KUBE-PROXY-CANARY',
    ].map(declare),
    ...filterJumps,
    ...(localhostNodePorts ? [firewall] : []),
    '-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP',
    '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x00004000/0x00004000 -j ACCEPT',
    '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
    'COMMIT',
    '*nat',
    ...[
      'KUBE-SERVICES',
      'KUBE-NODEPORTS',
      'KUBE-POSTROUTING',
      'KUBE-MARK-MASQ',
      'KUBE-PROXY-CANARY',
      ...ports.flatMap(({ chains }) => chains),
    ].map(declare),
    ...natJumps,
    '-A KUBE-POSTROUTING -m mark ! --mark 0x00004000/0x00004000 -j RETURN',
    '-A KUBE-POSTROUTING -j MARK --xor-mark 0x00004000',
    '-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
    '-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000',
    ...ports.flatMap(({ rules }) => rules),
    `-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL${toNode} -j KUBE-NODEPORTS`,
    'COMMIT',
  ].join('\n')}\n`;
}

function declare(chain: string): string {
  return `:${chain} - [0:0]`;
}

const isNew = '-m conntrack --ctstate NEW ';
const filterJumps = [
  jump('INPUT', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', isNew),
  jump('FORWARD', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', isNew),
  jump('INPUT', 'KUBE-NODEPORTS', 'kubernetes health check service ports'),
  jump('FORWARD', 'KUBE-SERVICES', 'kubernetes service portals', isNew),
  jump('OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals', isNew),
  jump('FORWARD', 'KUBE-FORWARD', 'kubernetes forwarding rules'),
  jump('INPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', isNew),
  jump('OUTPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', isNew),
  jump('FORWARD', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', isNew),
  '-I INPUT -j KUBE-FIREWALL',
  '-I OUTPUT -j KUBE-FIREWALL',
];
const natJumps = [
  jump('OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('PREROUTING', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('POSTROUTING', 'KUBE-POSTROUTING', 'kubernetes postrouting rules'),
];

function jump(from: string, to: string, comment: string, match = ''): string {
  return `-I ${from} ${match}-m comment --comment "${comment}" -j ${to}`;
}

function servicePort(service: UpstreamService, podCIDR: string): { chains: string[]; rules: string[] } {
  const { protocol, clusterIP, port, nodePort, endpoints, affinitySeconds } = service;
  const name = printableName(service);
  const tail = hashText(name + protocol, 16);
  const proto = `-m ${protocol} -p ${protocol}`;
  const seps = endpoints.map((endpoint) => ({
    chain: `KUBE-SEP-${hashText(name + protocol + endpointText(endpoint), 16)}`,
    endpoint,
    comment: `-m comment --comment "${name} -> ${endpointText(endpoint)}"`,
  }));
  const svc = `KUBE-SVC-${tail}`;
  const ext = `KUBE-EXT-${tail}`;
  const frontend = `-m comment --comment "${name} cluster IP" ${proto} -d ${clusterIP} --dport ${port}`;
  const rules = [
    `-A KUBE-SERVICES ${frontend} -j ${svc}`,
    `-A ${svc} ${frontend} ! -s ${podCIDR} -j KUBE-MARK-MASQ`,
  ];
  if (nodePort !== undefined) {
    rules.push(
      `-A KUBE-NODEPORTS -m comment --comment ${name} ${proto} --dport ${nodePort} -j ${ext}`,
      `-A ${ext} -m comment --comment "masquerade traffic for ${name} external destinations" -j KUBE-MARK-MASQ`,
      `-A ${ext} -j ${svc}`,
    );
  }
  for (const { chain, comment } of affinitySeconds === undefined ? [] : seps) {
    rules.push(
      `-A ${svc} ${comment} -m recent --name ${chain} --rcheck --seconds ${affinitySeconds} --reap -j ${chain}`,
    );
  }
  for (const [index, { chain, comment, endpoint }] of seps.entries()) {
    const left = seps.length - index;
    const share = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`;
    const recent = affinitySeconds === undefined ? '' : `-m recent --name ${chain} --set `;
    rules.push(
      `-A ${svc} ${comment}${share} -j ${chain}`,
      `-A ${chain} -m comment --comment ${name} -s ${endpoint.ip} -j KUBE-MARK-MASQ`,
      `-A ${chain} -m comment --comment ${name} ${recent}${proto} -j DNAT --to-destination ${endpointText(endpoint)}`,
    );
  }
  const chains = [...(nodePort === undefined ? [] : [ext]), svc, ...seps.map(({ chain }) => chain)];
  return { chains, rules };
}
