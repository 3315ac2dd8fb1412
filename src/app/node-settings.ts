import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { Node } from '../kube/node.ts';
import { type LocalTrafficDetector, localTrafficDetector } from '../model/local-traffic-detector.ts';
import {
  determineNodeIps,
  type NodeIps,
  nodeObjectIps,
  resolvePrimaryNodePortAddresses,
} from '../model/node-ips.ts';
import { type NodePortAddresses, nodePortAddresses } from '../model/node-port-addresses.ts';
import type { PlanSettings } from '../plan/plan-settings.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** What is settled about this node once, at start (operations 3.3, 8.1): later changes of these facts do not count. */
export interface NodeFacts {
  readonly nodeName: string;
  /** Addresses that the Node object gave. */
  readonly objectIps: readonly string[];
  readonly ips: NodeIps;
  readonly podCIDRs: readonly string[];
  /** `nodePortAddresses` of the configuration with `primary` resolved. */
  readonly nodePortNetworks: readonly string[];
}

/** Settles the facts from the Node object, as far as it is known, and the configuration. */
export function nodeFacts(
  nodeName: string,
  node: Node | undefined,
  config: ProxyConfiguration,
  logger: Logger,
): NodeFacts {
  const objectIps = nodeObjectIps(node?.addresses ?? []);
  const ips = determineNodeIps(objectIps, config.bindAddress);
  if (node === undefined)
    logger.warn('There is no Node of this name: no endpoint counts as local', { node: nodeName });
  else if (objectIps.length === 0) logger.warn('The Node has no addresses yet', { node: nodeName });
  else
    logger.info('Node addresses', { node: nodeName, addresses: objectIps, primaryFamily: ips.primaryFamily });
  const name = impossibleInterface(config);
  if (name !== undefined) {
    logger.warn('No interface can have this name: traffic of local pods is not told apart', {
      detectLocal: name,
    });
  }
  return {
    nodeName,
    objectIps,
    ips,
    podCIDRs: node?.podCIDRs ?? [],
    nodePortNetworks: resolvePrimaryNodePortAddresses(config.nodePortAddresses ?? [], ips),
  };
}

/** Interface names have at most 15 bytes (linux/if.h, IFNAMSIZ with its zero). */
const LONGEST_INTERFACE_NAME = 15;

/**
 * The configured detector of a family. The name of an interface that cannot exist would make the kernel refuse every
 * rule set: traffic of local pods is not told apart then.
 */
function detectorOf(family: IpFamily, facts: NodeFacts, config: ProxyConfiguration): LocalTrafficDetector {
  if (impossibleInterface(config) !== undefined) return { kind: 'none' };
  const { detectLocal, detectLocalMode } = config;
  return localTrafficDetector({ mode: detectLocalMode, podCIDRs: facts.podCIDRs, ...detectLocal }, family);
}

function impossibleInterface({ detectLocal, detectLocalMode }: ProxyConfiguration): string | undefined {
  const names = {
    BridgeInterface: detectLocal.bridgeInterface,
    InterfaceNamePrefix: detectLocal.interfaceNamePrefix,
  };
  const name = detectLocalMode in names ? names[detectLocalMode as keyof typeof names] : 'any';
  return name === '' || Buffer.byteLength(name) > LONGEST_INTERFACE_NAME ? name : undefined;
}

/** The node port addresses of one family. */
export function nodePortsOf(facts: NodeFacts, family: IpFamily): NodePortAddresses {
  return nodePortAddresses(family, facts.nodePortNetworks);
}

/** Addresses that take NodePort traffic right now, for a plan; `'all'` where they are not restricted. */
export function selectNodePortAddresses(
  addresses: NodePortAddresses,
  interfaceAddresses: readonly string[],
): 'all' | readonly string[] {
  return addresses.matchAll ? 'all' : addresses.select(interfaceAddresses).sort();
}

/** The node's zone by its label, `''` where it has none. */
export function zoneOf(node: Node | undefined): string {
  return node?.labels[ZONE_LABEL] ?? '';
}

/** Settings of a family's plan at start. */
export function planSettings(
  family: IpFamily,
  facts: NodeFacts,
  config: ProxyConfiguration,
  options: {
    readonly interfaceAddresses: readonly string[];
    readonly zone: string;
    readonly serviceCIDRs: readonly string[];
    readonly allowExternalIPs: boolean;
  },
): PlanSettings {
  const nodePorts = nodePortsOf(facts, family);
  const masqueradeBit =
    config.mode === 'nftables' ? config.nftables.masqueradeBit : config.iptables.masqueradeBit;
  return {
    family,
    nodeName: facts.nodeName,
    zone: options.zone,
    nodeIP: facts.ips[family],
    localTraffic: detectorOf(family, facts, config),
    masqueradeAll: config.masqueradeAll,
    masqueradeMark: 2 ** masqueradeBit,
    nodePortAddresses: selectNodePortAddresses(nodePorts, options.interfaceAddresses),
    localhostNodePorts: config.iptables.localhostNodePorts && nodePorts.containsIPv4Loopback,
    serviceCIDRs: options.serviceCIDRs,
    allowExternalIPs: options.allowExternalIPs,
  };
}
