import type { IpFamily } from '../../../src/base/ip.ts';
import type { JsonObject } from '../../../src/kube/json/json-fields.ts';
import { EndpointSliceCache } from '../../../src/model/endpoint-slice-cache.ts';
import type { LocalTrafficDetector } from '../../../src/model/local-traffic-detector.ts';
import { ServiceChangeTracker } from '../../../src/model/service-change-tracker.ts';
import type { NodeView } from '../../../src/plan/connection-outcome.ts';
import type { PlanSettings } from '../../../src/plan/plan-settings.ts';
import { Planner } from '../../../src/plan/planner.ts';
import { kindRules } from '../../../src/source/files/object-kinds.ts';
import type { KubeObject, ReplayMode } from '../replay/scenario.ts';
import type { Topology } from '../testbed/topology.ts';
import type { WorldConfig } from './random-world.ts';

/** What a family of the proxy should make of a world. */
export interface PredictedFamily extends NodeView {
  readonly family: IpFamily;
  /** By health check node port: how many endpoints count as ready here. */
  readonly healthChecks: ReadonlyMap<number, number>;
}

/** Plans a world from scratch, with settings that are worked out here and not by the program. */
export function predictPlans(
  objects: readonly KubeObject[],
  config: WorldConfig,
  mode: ReplayMode,
  topology: Topology,
): PredictedFamily[] {
  return (['IPv4', 'IPv6'] as const).map((family) => {
    const services = new ServiceChangeTracker(family, () => {});
    const slices = new EndpointSliceCache({ family, nodeName: 'node1', report: () => {} });
    for (const object of objects) {
      const labels = (object.metadata['labels'] ?? {}) as Readonly<Record<string, string>>;
      const isOthers = 'service.kubernetes.io/service-proxy-name' in labels;
      const isHeadless = 'service.kubernetes.io/headless' in labels;
      if (object.kind !== 'Service' && object.kind !== 'EndpointSlice') continue;
      const read = kindRules[object.kind].read(JSON.parse(JSON.stringify(object)) as JsonObject);
      if (read.kind === 'Service' && !isOthers) services.update(read.object);
      if (read.kind === 'EndpointSlice' && !isHeadless) slices.update(read.object);
    }
    services.checkout();
    slices.checkout();
    const settings = worldSettings(family, objects, config, mode, topology);
    const plan = new Planner(settings, () => {}).replan(
      { services: services.services, endpoints: slices.endpoints.bind(slices) },
      settings,
    );
    const healthChecks = new Map<number, number>();
    for (const [service, ports] of services.services) {
      for (const { healthCheckNodePort } of ports.values()) {
        if (healthCheckNodePort !== 0)
          healthChecks.set(healthCheckNodePort, slices.localReadyAddresses(service));
      }
    }
    return { family, plan, mode, nodeAddresses: topology.nodes['node1']!.allIPs, healthChecks };
  });
}

function worldSettings(
  family: IpFamily,
  objects: readonly KubeObject[],
  config: WorldConfig,
  mode: ReplayMode,
  topology: Topology,
): PlanSettings {
  const node = objects.find(({ kind, metadata }) => kind === 'Node' && metadata.name === 'node1')!;
  const labels = node.metadata['labels'] as Readonly<Record<string, string>>;
  const { internalIPs, podCIDRs } = topology.nodes['node1']!;
  const ofFamily = (texts: readonly string[]) =>
    texts.filter((text) => text.includes(':') === (family === 'IPv6'));
  const [nodeIP = ''] = ofFamily(internalIPs);
  const [podCIDR = ''] = ofFamily(podCIDRs);
  return {
    family,
    nodeName: 'node1',
    zone: labels['topology.kubernetes.io/zone'] ?? '',
    nodeIP,
    localTraffic: detector(config, family, podCIDR),
    masqueradeAll: config.masqueradeAll,
    masqueradeMark: 2 ** config.masqueradeBit,
    nodePortAddresses:
      NODE_PORT_ADDRESSES[(config.nodePortAddresses ?? DEFAULT_ADDRESSES[mode]).join()]![family],
    localhostNodePorts: config.localhostNodePorts && reachesLoopback(config, mode),
    serviceCIDRs: ofFamily(topology.serviceCIDRs),
    allowExternalIPs: true,
  };
}

const DEFAULT_ADDRESSES = { nftables: ['primary'], iptables: [] } as const;

/** The addresses of node1 that each configuration selects. */
const NODE_PORT_ADDRESSES: Readonly<Record<string, Record<IpFamily, 'all' | readonly string[]>>> = {
  '': { IPv4: 'all', IPv6: 'all' },
  primary: { IPv4: ['172.31.0.11'], IPv6: ['fd00:31::11'] },
  '0.0.0.0/0,::/0': { IPv4: 'all', IPv6: 'all' },
  '172.31.1.0/24,fd00:31::/32': { IPv4: ['172.31.1.11'], IPv6: ['fd00:31::11', 'fd00:31:1::11'] },
  '10.244.1.0/24': { IPv4: ['10.244.1.1'], IPv6: 'all' },
};

function reachesLoopback({ nodePortAddresses }: WorldConfig, mode: ReplayMode): boolean {
  return ['', '0.0.0.0/0,::/0'].includes((nodePortAddresses ?? DEFAULT_ADDRESSES[mode]).join());
}

function detector({ detectLocal }: WorldConfig, family: IpFamily, podCIDR: string): LocalTrafficDetector {
  switch (detectLocal) {
    case 'ClusterCIDR':
      return { kind: 'cidr', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:244::/32' };
    case 'NodeCIDR':
      return { kind: 'cidr', cidr: podCIDR };
    case 'bridge':
      return { kind: 'bridgeInterface', name: 'cbr0' };
    case 'prefix':
      return { kind: 'interfaceNamePrefix', prefix: 'veth' };
    case 'none':
      return { kind: 'none' };
  }
}

/** The configuration file of the world, as far as it differs from that of a replay. */
export function worldConfiguration(config: WorldConfig): Record<string, unknown> {
  const { detectLocal, masqueradeAll, masqueradeBit, nodePortAddresses, localhostNodePorts } = config;
  return {
    ...(nodePortAddresses === null ? {} : { nodePortAddresses }),
    nftables: { masqueradeAll, masqueradeBit },
    iptables: { masqueradeAll, masqueradeBit, localhostNodePorts },
    ...{
      ClusterCIDR: {},
      NodeCIDR: { detectLocalMode: 'NodeCIDR' },
      bridge: { detectLocalMode: 'BridgeInterface', detectLocal: { bridgeInterface: 'cbr0' } },
      prefix: { detectLocalMode: 'InterfaceNamePrefix', detectLocal: { interfaceNamePrefix: 'veth' } },
      none: { clusterCIDR: null },
    }[detectLocal],
  };
}
