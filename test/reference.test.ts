import { expect, test } from 'vitest';
import { joinHostPort } from '../src/base/ip.ts';
import { connectionOutcome, type NodeView } from '../src/plan/connection-outcome.ts';
import type { KubeObject, ReplayMode } from './netns/replay/scenario.ts';
import { standingObjects } from './netns/replay/standing-objects.ts';
import { loadTopology } from './netns/testbed/topology.ts';
import { type PredictedFamily, predictPlans } from './netns/worlds/predicted-plans.ts';
import { Random } from './netns/worlds/random.ts';
import { drawConfig, RandomWorld, type WorldChange } from './netns/worlds/random-world.ts';
import { walkIptables } from './reference/iptables-walk.ts';
import { walkNftables } from './reference/nftables-walk.ts';
import { describeForwarded, type Packet, type ReferenceSettings } from './reference/packet.ts';
import { type ReferencePort, referencePorts } from './reference/service-ports.ts';

const topology = loadTopology(new URL('./scenarios/topology.json', import.meta.url));
const nodeAddresses = topology.nodes['node1']!.allIPs;
const WORLDS = 40;
const STEPS = 6;

/** Address and interface; no interface for processes of the node. */
const SOURCES = [
  ['10.244.1.2', 'cbr0'],
  ['10.244.1.4', 'vethc'],
  ['10.244.2.2', 'eth0'],
  ['198.51.100.10', 'eth0'],
  ['198.51.100.20', 'eth0'],
  ['10.244.9.50', 'eth0'],
  ['172.31.0.11'],
  ['172.31.1.11'],
  ['10.244.1.1'],
  ['203.0.113.10', 'eth0'],
  ['fd00:244:1::2', 'cbr0'],
  ['fd00:244:1::4', 'vethc'],
  ['2001:db8:100::10', 'eth0'],
  ['2001:db8:100::20', 'eth0'],
  ['fd00:31::11'],
  ['fd00:31:1::11'],
] as const;

test.each(['nftables', 'iptables'] as const)(
  'the plan says what the rules of kube-proxy do: %s',
  { timeout: 120_000 },
  (mode) => {
    let compared = 0;
    const outcomes = new Set<string>();
    for (let seed = 1; seed <= WORLDS; seed++) {
      const random = new Random(seed);
      const config = drawConfig(random);
      const world = new RandomWorld(random, topology);
      const objects = new Map<string, KubeObject>();
      for (const object of standingObjects(topology, {})) objects.set(keyOf(object), object);
      for (let step = 0; step < STEPS; step++) {
        for (const change of step === 0 ? world.begin() : world.change()) make(change, objects);
        for (const family of predictPlans([...objects.values()], config, mode, topology)) {
          for (const { got, wanted, about } of comparisons([...objects.values()], family, mode)) {
            if (got !== wanted) expect.fail(`seed ${seed}, step ${step}: ${about} is ${got}, not ${wanted}`);
            compared++;
            outcomes.add(got.split(' ', 1)[0]!);
          }
        }
      }
    }
    expect(compared).toBeGreaterThan(30_000);
    expect([...outcomes].sort()).toEqual(['dropped', 'rejected', 'to', 'untouched']);
  },
);

function* comparisons(
  objects: readonly KubeObject[],
  view: PredictedFamily,
  mode: ReplayMode,
): Generator<{ got: string; wanted: string; about: string }> {
  const { family, plan } = view;
  const { nodeIP, localTraffic, masqueradeAll, nodePortAddresses, localhostNodePorts, serviceCIDRs, zone } =
    plan.settings;
  const settings: ReferenceSettings = {
    nodeIP,
    hasDetector: localTraffic.kind !== 'none',
    masqueradeAll,
    nodePortAddresses,
    localhostNodePorts: localhostNodePorts && family === 'IPv4',
    serviceCIDRs,
  };
  const ports = referencePorts(objects, family, { name: 'node1', zone });
  const walk = mode === 'nftables' ? walkNftables : walkIptables;
  const sources = SOURCES.filter(([ip]) => ip.includes(':') === (family === 'IPv6'));
  for (const [destination, port, protocol] of destinations(ports, view)) {
    for (const [source, inputInterface] of sources) {
      const packet: Packet = {
        source,
        destination,
        port,
        protocol,
        isOutput: nodeAddresses.includes(source),
        isToNode: nodeAddresses.includes(destination),
        isPod: isPod(localTraffic, source, inputInterface),
      };
      const about = `${source} → ${joinHostPort(destination, port)}/${protocol}`;
      yield { got: told(packet, inputInterface, view), wanted: walk(ports, packet, settings), about };
    }
  }
}

/** Every frontend, with neighbours; without those that {@link isLeftToChance}. */
function destinations(
  ports: readonly ReferencePort[],
  { family }: PredictedFamily,
): [ip: string, port: number, protocol: 'TCP' | 'UDP' | 'SCTP'][] {
  const found = new Map<string, [string, number, 'TCP' | 'UDP' | 'SCTP']>();
  const add = (ip: string, port: number, protocol: string) => {
    const claimants = ports.filter(
      (other) =>
        other.protocol === protocol &&
        (other.nodePort === port || (other.port === port && addressesOf(other).has(ip))),
    );
    if (!isLeftToChance(claimants, ip, port))
      found.set(`${ip} ${port} ${protocol}`, [ip, port, protocol as 'TCP']);
  };
  const ofNode = nodeAddresses.filter((ip) => ip.includes(':') === (family === 'IPv6'));
  for (const port of ports) {
    for (const ip of addressesOf(port)) {
      for (const protocol of ['TCP', 'UDP']) add(ip, port.port, protocol);
      add(ip, port.port + 1, port.protocol);
    }
    if (port.nodePort !== 0) for (const ip of ofNode) add(ip, port.nodePort, port.protocol);
  }
  add(family === 'IPv4' ? '10.96.77.7' : 'fd00:10:96::7777', 80, 'TCP');
  return [...found.values()];
}

function addressesOf({ clusterIP, externalIPs, vips }: ReferencePort): ReadonlySet<string> {
  return new Set([clusterIP, ...externalIPs, ...vips]);
}

/**
 * Whether the outcome in kube-proxy depends on the order of a hash map: several ports claim a destination, and more
 * than one of them does something else than to refuse what nobody translates.
 */
function isLeftToChance(claimants: readonly ReferencePort[], ip: string, port: number): boolean {
  if (claimants.length < 2) return false;
  // No API server gives one node port to two.
  if (claimants.some(({ nodePort }) => nodePort === port)) return true;
  if (
    claimants.some(
      ({ clusterIP, vips, ranges }) => clusterIP === ip || (vips.includes(ip) && ranges.length > 0),
    )
  )
    return true;
  const served = claimants.filter(({ hasAny }) => hasAny);
  return served.length > 1 || served.some(({ externalLocal }) => externalLocal);
}

function told(packet: Packet, inputInterface: string | undefined, view: NodeView): string {
  const { destination: ip, port, protocol, source } = packet;
  const outcome = connectionOutcome(
    {
      destination: { ip, port, protocol: protocol as 'TCP' },
      source,
      ...(inputInterface === undefined ? {} : { inputInterface }),
    },
    view,
  );
  if (outcome.kind !== 'forwarded') return outcome.kind;
  const names = outcome.endpoints.map((endpoint) => joinHostPort(endpoint.ip, endpoint.port));
  return describeForwarded(names, outcome.masquerade);
}

function isPod(
  detector: PredictedFamily['plan']['settings']['localTraffic'],
  source: string,
  inputInterface: string | undefined,
): boolean {
  switch (detector.kind) {
    case 'cidr':
      return source.startsWith(
        { '10.244.0.0/16': '10.244.', '10.244.1.0/24': '10.244.1.' }[detector.cidr] ??
          detector.cidr.replace(/:\/\d+$/, ''),
      );
    case 'bridgeInterface':
      return inputInterface === 'cbr0';
    case 'interfaceNamePrefix':
      return inputInterface === 'vethc';
    case 'none':
      return false;
  }
}

function make(change: WorldChange, objects: Map<string, KubeObject>): void {
  if ('apply' in change) objects.set(keyOf(change.apply), change.apply);
  else objects.delete(`${change.delete.kind} ${change.delete.name}`);
}

function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}
