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

/** Walks a packet through the chains and maps of nftables mode (A4, A5, A9, A10). */
export function walkNftables(
  ports: readonly ReferencePort[],
  packet: Packet,
  settings: ReferenceSettings,
): PacketOutcome {
  const own = ports.filter(({ protocol }) => protocol === packet.protocol);
  if (own.some((port) => isFirewalled(port, packet, settings))) return 'dropped';
  const translated = walkNat(own, packet, settings);
  if (translated !== undefined) return describeTranslated(translated);
  // Output comes first for packets of the node to itself, input for the others; the maps are the same.
  if (packet.isToNode && takesNodePorts(packet, settings)) {
    const port = own.find(({ nodePort }) => nodePort !== 0 && nodePort === packet.port);
    const refusal = port === undefined ? undefined : refusalOf(port, port.externalLocal);
    if (refusal !== undefined) return refusal;
  }
  for (const port of own) {
    if (packet.port !== port.port) continue;
    const isExternal = [...port.externalIPs, ...port.vips].includes(packet.destination);
    const refusal =
      packet.destination === port.clusterIP
        ? refusalOf(port, port.internalLocal)
        : isExternal
          ? refusalOf(port, port.externalLocal)
          : undefined;
    if (refusal !== undefined) return refusal;
  }
  if (packet.isToNode && !packet.isOutput) return 'untouched';
  if (ports.some(({ clusterIP }) => clusterIP === packet.destination)) return 'rejected';
  return isInAny(packet.destination, settings.serviceCIDRs) ? 'dropped' : 'untouched';
}

/** A12. */
function isFirewalled(port: ReferencePort, packet: Packet, settings: ReferenceSettings): boolean {
  if (packet.port !== port.port || !port.vips.includes(packet.destination)) return false;
  if (port.ranges.length === 0 || isInAny(packet.source, port.ranges)) return false;
  return !(isInAny(settings.nodeIP, port.ranges) && port.vips.includes(packet.source));
}

function walkNat(
  own: readonly ReferencePort[],
  packet: Packet,
  settings: ReferenceSettings,
): Translated | undefined {
  for (const port of own) {
    if (packet.port !== port.port) continue;
    if (packet.destination === port.clusterIP)
      return isUsable(port, port.internalLocal) ? internalChain(port, packet, settings) : undefined;
    // A port without endpoints is not in the map, and another may be.
    if ([...port.externalIPs, ...port.vips].includes(packet.destination) && port.hasAny)
      return externalChain(port, packet, settings);
  }
  if (!packet.isToNode || !takesNodePorts(packet, settings)) return undefined;
  const port = own.find(({ nodePort, hasAny }) => hasAny && nodePort !== 0 && nodePort === packet.port);
  return port === undefined ? undefined : externalChain(port, packet, settings);
}

function takesNodePorts({ destination }: Packet, { nodePortAddresses }: ReferenceSettings): boolean {
  if (destination.startsWith('127.') || destination === '::1') return false;
  return nodePortAddresses === 'all' || nodePortAddresses.includes(destination);
}

function refusalOf(port: ReferencePort, isLocal: boolean): PacketOutcome | undefined {
  if (!port.hasAny) return 'rejected';
  return isUsable(port, isLocal) ? undefined : 'dropped';
}
