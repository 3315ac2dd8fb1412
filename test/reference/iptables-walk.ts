import {
  describeTranslated,
  externalChain,
  internalChain,
  isUsable,
  type Packet,
  type PacketOutcome,
  type ReferenceSettings,
  type Translated,
} from './packet.ts';
import { isInAny, type ReferencePort } from './service-ports.ts';

/** Walks a packet through the rules of iptables mode, in the order of B.1.7. */
export function walkIptables(
  ports: readonly ReferencePort[],
  packet: Packet,
  settings: ReferenceSettings,
): PacketOutcome {
  const translated = walkNat(ports, packet, settings);
  if (translated !== undefined) return describeTranslated(translated);
  const hooks = [...(packet.isOutput ? ['OUTPUT'] : []), ...(packet.isToNode ? ['INPUT'] : [])];
  for (const hook of hooks.length === 0 ? ['FORWARD'] : hooks) {
    const verdict = walkFilter(ports, packet, hook);
    if (verdict !== undefined) return verdict;
  }
  return 'untouched';
}

function walkNat(
  ports: readonly ReferencePort[],
  packet: Packet,
  settings: ReferenceSettings,
): Translated | undefined {
  const own = ports.filter(({ protocol }) => protocol === packet.protocol);
  for (const port of own) {
    if (packet.port !== port.port) continue;
    if (packet.destination === port.clusterIP && isUsable(port, port.internalLocal))
      return internalChain(port, packet, settings);
    const external = () => externalChain(port, packet, settings);
    if (port.externalIPs.includes(packet.destination) && port.hasAny) {
      const found = external();
      if (found !== undefined) return found;
    }
    if (port.vips.includes(packet.destination) && port.hasAny) {
      const coversNode = isInAny(settings.nodeIP, port.ranges);
      const isAllowed =
        port.ranges.length === 0 ||
        isInAny(packet.source, port.ranges) ||
        (coversNode && port.vips.includes(packet.source));
      const found = isAllowed ? external() : undefined;
      if (found !== undefined) return found;
    }
  }
  if (!packet.isToNode || !takesNodePorts(packet, settings)) return undefined;
  for (const port of own) {
    if (port.nodePort === 0 || packet.port !== port.nodePort || !port.hasAny) continue;
    const found = externalChain(port, packet, settings);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** B.1.4, node-port dispatch. */
function takesNodePorts({ destination }: Packet, settings: ReferenceSettings): boolean {
  const { nodePortAddresses, localhostNodePorts } = settings;
  if (destination === '::1') return false;
  if (destination.startsWith('127.') && !localhostNodePorts) return false;
  return nodePortAddresses === 'all' || nodePortAddresses.includes(destination);
}

/** KUBE-PROXY-FIREWALL, KUBE-SERVICES, KUBE-EXTERNAL-SERVICES, as far as they are part of the hook (B.1.2). */
function walkFilter(
  ports: readonly ReferencePort[],
  packet: Packet,
  hook: string,
): PacketOutcome | undefined {
  const own = ports.filter(({ protocol }) => protocol === packet.protocol);
  const verdictOf = (port: ReferencePort) => (port.hasAny ? 'dropped' : 'rejected');
  for (const port of own) {
    const isVip = packet.port === port.port && port.vips.includes(packet.destination);
    if (isVip && port.hasAny && port.ranges.length > 0) return 'dropped';
  }
  if (hook !== 'INPUT') {
    for (const port of own) {
      const isClusterIP = packet.port === port.port && packet.destination === port.clusterIP;
      if (isClusterIP && !isUsable(port, port.internalLocal)) return verdictOf(port);
    }
  }
  if (hook !== 'OUTPUT') {
    for (const port of own) {
      if (isUsable(port, port.externalLocal)) continue;
      const isExternal = [...port.externalIPs, ...port.vips].includes(packet.destination);
      if (isExternal && packet.port === port.port) return verdictOf(port);
      if (packet.isToNode && port.nodePort !== 0 && packet.port === port.nodePort) return verdictOf(port);
    }
  }
  return undefined;
}
