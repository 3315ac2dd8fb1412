import type { LinkEnd, Route, Topology } from '../../test/netns/testbed/topology.ts';

export interface Pod {
  readonly name: string;
  readonly node: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

interface Node {
  readonly name: string;
  /** Number of the node in its addresses. */
  readonly number: number;
  readonly ipv4: string;
  readonly ipv6: string;
}

const NODES: readonly Node[] = [
  { name: 'node1', number: 1, ipv4: '172.31.1.11', ipv6: 'fd00:31:1::11' },
  { name: 'node2', number: 2, ipv4: '172.31.2.12', ipv6: 'fd00:31:2::12' },
];

/** The pods of examples/shop. */
export const PODS: readonly Pod[] = [
  pod('web-1', 1, 2),
  pod('api-1', 1, 3),
  pod('cart-1', 1, 4),
  pod('web-2', 2, 2),
  pod('web-3', 2, 3),
  pod('api-2', 2, 4),
  pod('cart-2', 2, 5),
];

const CLIENT = { name: 'client', ipv4: '198.51.100.10', ipv6: '2001:db8:100::10' };

function pod(name: string, node: number, number: number): Pod {
  return { name, node: `node${node}`, ipv4: `10.244.${node}.${number}`, ipv6: `fd00:244:${node}::${number}` };
}

/**
 * Two nodes with pods behind a bridge each, a client outside of the cluster, and a router between them. The router
 * knows the pods of each node, no Service addresses, and both nodes as next hops of the load balancer's range.
 */
export function shopNetwork(): Topology {
  const forwarding = { 'net.ipv4.ip_forward': 1, 'net.ipv6.conf.all.forwarding': 1 };
  const unfilteredBridge = {
    'net.bridge.bridge-nf-call-iptables': 0,
    'net.bridge.bridge-nf-call-ip6tables': 0,
  };
  return {
    serviceCIDRs: ['10.96.0.0/16', 'fd00:10:96::/112'],
    nodes: {},
    namespaces: ['router', 'client', ...NODES.map(({ name }) => name), ...PODS.map(({ name }) => name)],
    sysctls: {
      all: {
        'net.ipv4.conf.all.rp_filter': 0,
        'net.ipv4.conf.default.rp_filter': 0,
        'net.ipv4.conf.all.send_redirects': 0,
        'net.ipv4.conf.default.send_redirects': 0,
        // A redirect would make pods of one node talk past it.
        'net.ipv6.conf.all.accept_redirects': 0,
        'net.ipv6.conf.default.accept_redirects': 0,
      },
      // Spreads connections, not only clients, over the next hops.
      router: {
        ...forwarding,
        'net.ipv4.fib_multipath_hash_policy': 1,
        'net.ipv6.fib_multipath_hash_policy': 1,
      },
      node1: { ...forwarding, ...unfilteredBridge },
      node2: { ...forwarding, ...unfilteredBridge },
    },
    bridges: NODES.map(({ name, number }) => ({
      ns: name,
      name: 'cbr0',
      addresses: [`10.244.${number}.1/24`, `fd00:244:${number}::1/64`, 'fe80::1/64'],
    })),
    links: [...NODES.map(nodeLink), clientLink(), ...PODS.map(podLink)],
    loopbackAddresses: [],
    routes: [
      ...NODES.flatMap(({ name, number }) =>
        defaultRoutes(name, `172.31.${number}.1`, `fd00:31:${number}::1`),
      ),
      ...defaultRoutes(CLIENT.name, '198.51.100.1', '2001:db8:100::1'),
      ...PODS.flatMap(({ name, node }) => podRoutes(name, `10.244.${node.slice(-1)}.1`)),
      ...NODES.flatMap(({ number, ipv4, ipv6 }) => [
        { ns: 'router', to: `10.244.${number}.0/24`, via: ipv4 },
        { ns: 'router', to: `fd00:244:${number}::/64`, via: ipv6 },
      ]),
      { ns: 'router', to: '203.0.113.0/24', nexthops: NODES.map(({ ipv4 }) => ipv4) },
      { ns: 'router', to: '2001:db8:113::/64', nexthops: NODES.map(({ ipv6 }) => ipv6) },
    ],
    sources: Object.fromEntries(
      [CLIENT, ...PODS].map(({ name, ipv4, ipv6 }) => [name, { ns: name, ipv4, ipv6 }]),
    ),
    servers: {
      addresses: [],
      ports: [],
      extra: PODS.map(({ name, ipv4, ipv6 }) => ({
        ns: name,
        name,
        addresses: [ipv4, ipv6],
        ports: [8080, 8081, 5353],
      })),
    },
  };
}

/** Who has an address: a pod, a node (any of its addresses), the client; the address itself when nobody does. */
export function ownerOf(address: string): string {
  const host = [CLIENT, ...PODS].find(({ ipv4, ipv6 }) => ipv4 === address || ipv6 === address);
  if (host !== undefined) return host.name;
  const node = NODES.find(({ number, ipv4, ipv6 }) =>
    [ipv4, ipv6, `10.244.${number}.1`, `fd00:244:${number}::1`].includes(address),
  );
  return node?.name ?? address;
}

function nodeLink({ name, number, ipv4, ipv6 }: Node): { a: LinkEnd; b: LinkEnd } {
  return {
    a: { ns: name, dev: 'eth0', addresses: [`${ipv4}/24`, `${ipv6}/64`] },
    b: { ns: 'router', dev: `${name}-eth0`, addresses: [`172.31.${number}.1/24`, `fd00:31:${number}::1/64`] },
  };
}

function clientLink(): { a: LinkEnd; b: LinkEnd } {
  return {
    a: { ns: CLIENT.name, dev: 'eth0', addresses: [`${CLIENT.ipv4}/24`, `${CLIENT.ipv6}/64`] },
    b: { ns: 'router', dev: 'client-eth0', addresses: ['198.51.100.1/24', '2001:db8:100::1/64'] },
  };
}

function podLink({ name, node, ipv4, ipv6 }: Pod): { a: LinkEnd; b: LinkEnd } {
  return {
    // Host prefixes: pods of one node reach each other through the node, which can undo its translations on the way back.
    a: { ns: name, dev: 'eth0', addresses: [`${ipv4}/32`, `${ipv6}/128`] },
    b: { ns: node, dev: `veth-${name}`, master: 'cbr0' },
  };
}

function podRoutes(ns: string, gateway: string): Route[] {
  return [{ ns, to: `${gateway}/32`, dev: 'eth0' }, ...defaultRoutes(ns, gateway, 'fe80::1')];
}

function defaultRoutes(ns: string, ipv4: string, ipv6: string): Route[] {
  return [
    { ns, to: 'default', via: ipv4, dev: 'eth0' },
    { ns, to: '::/0', via: ipv6, dev: 'eth0' },
  ];
}
