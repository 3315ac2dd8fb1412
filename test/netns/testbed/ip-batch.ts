import type { Topology } from './topology.ts';

/**
 * The veth pairs of a topology as lines for `ip -batch`, to be run outside the namespaces. Both ends are created
 * right where they belong, so that `eth0` never meets an `eth0` of the host.
 */
export function linkCommands(topology: Topology, fullName: (ns: string) => string): string[] {
  return topology.links.map(
    ({ a, b }) =>
      `link add dev ${a.dev} netns ${fullName(a.ns)} type veth peer name ${b.dev} netns ${fullName(b.ns)}`,
  );
}

/** Everything inside one namespace as lines for `ip -n <namespace> -batch`: bridges, links up, addresses, routes. */
export function namespaceCommands(topology: Topology, ns: string): string[] {
  const bridges = topology.bridges.filter((bridge) => bridge.ns === ns);
  const ends = topology.links.flatMap((link) => [link.a, link.b]).filter((end) => end.ns === ns);
  const loopback = topology.loopbackAddresses.filter((entry) => entry.ns === ns);
  const routes = topology.routes.filter((route) => route.ns === ns);
  return [
    'link set lo up',
    ...bridges.flatMap(({ name }) => [`link add ${name} type bridge`, `link set ${name} up`]),
    ...ends.flatMap(({ dev, master }) => [
      ...(master === undefined ? [] : [`link set ${dev} master ${master}`]),
      `link set ${dev} up`,
    ]),
    ...bridges.flatMap(({ name, addresses }) => addAddresses(name, addresses)),
    ...ends.flatMap(({ dev, addresses }) => addAddresses(dev, addresses ?? [])),
    ...loopback.flatMap(({ addresses }) => addAddresses('lo', addresses)),
    ...routes.map(({ to, via, nexthops = [], dev }) => {
      const hops = nexthops.map((hop) => ` nexthop via ${hop}`).join('');
      return `route add ${to}${via ? ` via ${via}` : ''}${hops}${dev ? ` dev ${dev}` : ''}`;
    }),
  ];
}

function addAddresses(dev: string, addresses: readonly string[]): string[] {
  // Without `nodad` an IPv6 address could not be used for the first second.
  return addresses.map((address) => `addr add ${address} dev ${dev}${address.includes(':') ? ' nodad' : ''}`);
}
