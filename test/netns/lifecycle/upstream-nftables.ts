import {
  endpointText,
  hashText,
  printableName,
  type UpstreamEndpoint,
  type UpstreamService,
} from './upstream-service.ts';

export interface UpstreamNftablesOptions {
  readonly family: 'ip' | 'ip6';
  readonly serviceCIDR: string;
  readonly podCIDR: string;
  /** Node addresses that take node ports; without them all of the node's. */
  readonly nodePortIPs?: readonly string[];
  readonly services: readonly UpstreamService[];
}

/** Input for `nft -f` that makes the table of kube-proxy's nftables mode (v1.36): same chains, sets, maps and rules. */
export function upstreamNftables(options: UpstreamNftablesOptions): string {
  const { family, services } = options;
  const lines = [
    'comment "rules for kube-proxy"',
    ...sets(options),
    ...baseChains(options),
    ...staticChains(options),
    ...services.flatMap((service) => serviceChains(service, family)),
  ];
  return `table ${family} kube-proxy {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;
}

function sets({ family, services, nodePortIPs }: UpstreamNftablesOptions): string[] {
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const withEndpoints = services.filter(({ endpoints }) => endpoints.length > 0);
  const without = services.filter(({ endpoints }) => endpoints.length === 0);
  const frontend = ({ clusterIP, protocol, port }: UpstreamService) => `${clusterIP} . ${protocol} . ${port}`;
  const nodePort = ({ protocol, nodePort: port }: UpstreamService) => `${protocol} . ${port}`;
  const hasNodePort = ({ nodePort: port }: UpstreamService) => port !== undefined;
  const service = `type ${address} . inet_proto . inet_service : verdict`;
  const port = 'type inet_proto . inet_service : verdict';
  const hairpin = withEndpoints.flatMap(({ endpoints, protocol }) =>
    endpoints.map((endpoint) => `${endpoint.ip} . ${endpoint.ip} . ${protocol} . ${endpoint.port}`),
  );
  return [
    set('set', 'cluster-ips', `type ${address}`, 'Active ClusterIPs', [
      ...new Set(services.map(({ clusterIP }) => clusterIP)),
    ]),
    ...(nodePortIPs === undefined
      ? []
      : [set('set', 'nodeport-ips', `type ${address}`, 'IPs that accept NodePort traffic', nodePortIPs)]),
    set(
      'set',
      'hairpin-connections',
      `type ${address} . ${address} . inet_proto . inet_service`,
      'service hairpin connections',
      [...new Set(hairpin)],
    ),
    set('map', 'service-ips', service, 'ClusterIP, ExternalIP and LoadBalancer IP traffic', [
      ...withEndpoints.map((each) => `${frontend(each)} : goto service-${base(each)}`),
    ]),
    set('map', 'service-nodeports', port, 'NodePort traffic', [
      ...withEndpoints.filter(hasNodePort).map((each) => `${nodePort(each)} : goto external-${base(each)}`),
    ]),
    set(
      'map',
      'no-endpoint-services',
      service,
      'vmap to drop or reject packets to services with no endpoints',
      without.map((each) => `${frontend(each)} comment "${printableName(each)}" : goto reject-chain`),
    ),
    set(
      'map',
      'no-endpoint-nodeports',
      port,
      'vmap to drop or reject packets to service nodeports with no endpoints',
      without
        .filter(hasNodePort)
        .map((each) => `${nodePort(each)} comment "${printableName(each)}" : goto reject-chain`),
    ),
    set('map', 'firewall-ips', service, 'destinations that are subject to LoadBalancerSourceRanges', []),
    ...services.flatMap((each) =>
      each.affinitySeconds === undefined
        ? []
        : each.endpoints.map((endpoint) => affinitySet(each, endpoint, address)),
    ),
  ];
}

function set(
  kind: 'set' | 'map',
  name: string,
  type: string,
  comment: string,
  elements: readonly string[],
): string {
  const content = elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} };`;
  return `${kind} ${name} { ${type}; comment "${comment}";${content} }`;
}

function affinitySet(service: UpstreamService, endpoint: UpstreamEndpoint, address: string): string {
  const { clients = [] } = endpoint;
  const elements = clients.length === 0 ? '' : ` elements = { ${clients.join(', ')} };`;
  const timeout = `timeout ${service.affinitySeconds}s`;
  return `set affinity-${endpointBase(service, endpoint)} { type ${address}; flags dynamic,timeout; ${timeout};${elements} }`;
}

function baseChains({ family }: UpstreamNftablesOptions): string[] {
  void family;
  const isNew = (...chains: string[]) => chains.map((name) => `ct state new jump ${name};`).join(' ');
  const chain = (name: string, type: string, hook: string, priority: number, rules: string) =>
    `chain ${name} { type ${type} hook ${hook} priority ${priority}; policy accept; ${rules} }`;
  return [
    chain('filter-prerouting-pre-dnat', 'filter', 'prerouting', -110, isNew('firewall-check')),
    chain('filter-output-pre-dnat', 'filter', 'output', -110, isNew('firewall-check')),
    chain('filter-input', 'filter', 'input', 0, isNew('nodeport-endpoints-check', 'service-endpoints-check')),
    chain('filter-forward', 'filter', 'forward', 0, isNew('service-endpoints-check', 'cluster-ips-check')),
    chain('filter-output', 'filter', 'output', 0, isNew('service-endpoints-check', 'cluster-ips-check')),
    chain('nat-prerouting', 'nat', 'prerouting', -100, 'jump services;'),
    chain('nat-output', 'nat', 'output', -100, 'jump services;'),
    chain('nat-postrouting', 'nat', 'postrouting', 100, 'jump masquerading;'),
  ];
}

function staticChains({ family, serviceCIDR, podCIDR, nodePortIPs }: UpstreamNftablesOptions): string[] {
  const noLocalhost = family === 'ip' ? 'ip daddr != 127.0.0.0/8' : 'ip6 daddr != ::1';
  const key = `${family} daddr . meta l4proto . th dport`;
  const toNode =
    nodePortIPs === undefined ? `fib daddr type local ${noLocalhost}` : `${family} daddr @nodeport-ips`;
  const notNode = nodePortIPs === undefined ? noLocalhost : `${family} daddr @nodeport-ips`;
  const chain = (name: string, ...rules: string[]) => `chain ${name} { ${rules.join('; ')}; }`;
  return [
    chain(
      'services',
      `${family} daddr @cluster-ips ${family} saddr != ${podCIDR} mark set mark or 0x4000 comment "masquerade clusterIP traffic from outside cluster"`,
      `${key} vmap @service-ips`,
      `${toNode} meta l4proto . th dport vmap @service-nodeports`,
    ),
    chain('service-endpoints-check', `${key} vmap @no-endpoint-services`),
    chain('nodeport-endpoints-check', `${notNode} meta l4proto . th dport vmap @no-endpoint-nodeports`),
    chain('firewall-check', `${key} vmap @firewall-ips`),
    chain(
      'cluster-ips-check',
      `${family} daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"`,
      `${family} daddr { ${serviceCIDR} } drop comment "Drop traffic to unallocated ClusterIPs"`,
    ),
    chain(
      'masquerading',
      'mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random',
      `ct status dnat ${family} saddr . ${family} daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random`,
    ),
    'chain reject-chain { comment "helper for @no-endpoint-services / @no-endpoint-nodeports"; reject; }',
  ];
}

function serviceChains(service: UpstreamService, family: 'ip' | 'ip6'): string[] {
  const { endpoints, protocol, nodePort, affinitySeconds } = service;
  const name = base(service);
  const count = endpoints.length;
  if (count === 0) return [];
  const chains: string[] = [];
  if (affinitySeconds === undefined) {
    const slots = endpoints.map(({ ip, port }, index) => `${index} : ${ip} . ${port}`).join(', ');
    chains.push(
      `chain service-${name} { meta l4proto ${protocol} dnat ${family} addr . port to numgen random mod ${count} map { ${slots} }; }`,
    );
  } else {
    const bases = endpoints.map((endpoint) => endpointBase(service, endpoint));
    const sticky = bases.map((each) => `${family} saddr @affinity-${each} goto endpoint-${each};`);
    const slots = bases.map((each, index) => `${index} : goto endpoint-${each}`).join(', ');
    for (const [index, each] of bases.entries()) {
      chains.push(
        `chain endpoint-${each} { update @affinity-${each} { ${family} saddr }; meta l4proto ${protocol} dnat to ${endpointText(endpoints[index]!)}; }`,
      );
    }
    chains.push(
      `chain service-${name} { ${sticky.join(' ')} numgen random mod ${count} vmap { ${slots} }; }`,
    );
  }
  if (nodePort !== undefined)
    chains.push(
      `chain external-${name} { mark set mark or 0x4000 comment "masquerade"; goto service-${name}; }`,
    );
  return chains;
}

function base({ namespace, name, protocol, portName }: UpstreamService): string {
  const text = `${namespace}/${name}/${protocol}/${portName}`;
  return `${hashText(text, 8)}-${text}`;
}

function endpointBase(service: UpstreamService, { ip, port }: UpstreamEndpoint): string {
  const { namespace, name, protocol, portName } = service;
  const text = `${namespace}/${name}/${protocol}/${portName}__${ip.replaceAll(':', '.')}/${port}`;
  return `${hashText(text, 8)}-${text}`;
}
