import type { Topology } from '../testbed/topology.ts';

/** One node with two pods on a bridge, and a client outside that is routed to it; both families. */
export const nodeTopology: Topology = {
  serviceCIDRs: ['10.96.0.0/16', 'fd00:10:96::/112'],
  nodes: {
    node1: {
      internalIPs: ['172.31.0.11', 'fd00:31::11'],
      allIPs: ['127.0.0.1', '::1', '172.31.0.11', 'fd00:31::11', '10.244.1.1', 'fd00:244:1::1'],
      podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'],
    },
  },
  namespaces: ['node1', 'pod-a', 'pod-b', 'client'],
  sysctls: {
    all: {
      'net.ipv4.conf.all.rp_filter': 0,
      'net.ipv4.conf.default.rp_filter': 0,
      'net.ipv4.icmp_ratelimit': 0,
      'net.ipv4.icmp_ratemask': 0,
      'net.ipv6.icmp.ratelimit': 0,
    },
    node1: {
      'net.ipv4.ip_forward': 1,
      'net.ipv6.conf.all.forwarding': 1,
      'net.bridge.bridge-nf-call-iptables': 0,
      'net.bridge.bridge-nf-call-ip6tables': 0,
    },
  },
  bridges: [{ ns: 'node1', name: 'cbr0', addresses: ['10.244.1.1/24', 'fd00:244:1::1/64'] }],
  links: [
    {
      a: { ns: 'node1', dev: 'eth0', addresses: ['172.31.0.11/24', 'fd00:31::11/64'] },
      b: { ns: 'client', dev: 'eth0', addresses: ['172.31.0.50/24', 'fd00:31::50/64'] },
    },
    pod('pod-a', ['10.244.1.2/24', '10.244.1.12/24', 'fd00:244:1::2/64']),
    pod('pod-b', ['10.244.1.3/24', '10.244.1.13/24', 'fd00:244:1::3/64']),
  ],
  loopbackAddresses: [],
  routes: [
    ...['pod-a', 'pod-b'].flatMap((ns) => [
      { ns, to: 'default', via: '10.244.1.1' },
      { ns, to: '::/0', via: 'fd00:244:1::1' },
    ]),
    ...['10.96.0.0/16', '10.244.0.0/16', '203.0.113.0/24'].map((to) => ({
      ns: 'client',
      to,
      via: '172.31.0.11',
    })),
    { ns: 'client', to: '::/0', via: 'fd00:31::11' },
  ],
  sources: {
    client: { ns: 'client', ipv4: '172.31.0.50', ipv6: 'fd00:31::50' },
    'pod-a': { ns: 'pod-a', ipv4: '10.244.1.2', ipv6: 'fd00:244:1::2' },
    'pod-b': { ns: 'pod-b', ipv4: '10.244.1.3', ipv6: 'fd00:244:1::3' },
    node1: { ns: 'node1', ipv4: null, ipv6: null },
  },
  servers: {
    addresses: ['10.244.1.2', '10.244.1.3', '10.244.1.12', '10.244.1.13', 'fd00:244:1::2', 'fd00:244:1::3'],
    ports: [8080, 8081, 8082, 5353],
    extra: [],
  },
};

function pod(ns: string, addresses: readonly string[]): Topology['links'][number] {
  return {
    a: { ns, dev: 'eth0', addresses },
    b: { ns: 'node1', dev: `to-${ns}`, master: 'cbr0' },
  };
}
