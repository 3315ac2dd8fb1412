import type { ReferenceEndpoint, ReferencePort } from './service-ports.ts';

/** The first packet of a connection, as it meets the rules of the node. */
export interface Packet {
  readonly source: string;
  readonly destination: string;
  readonly port: number;
  readonly protocol: string;
  /** It is sent by a process of the node. */
  readonly isOutput: boolean;
  /** The destination is an address of the node. */
  readonly isToNode: boolean;
  /** By the configured detector. */
  readonly isPod: boolean;
}

/** The state of a node that rules depend on. */
export interface ReferenceSettings {
  readonly nodeIP: string;
  readonly hasDetector: boolean;
  readonly masqueradeAll: boolean;
  readonly nodePortAddresses: 'all' | readonly string[];
  readonly localhostNodePorts: boolean;
  readonly serviceCIDRs: readonly string[];
}

/** `to A, B` with ` masqueraded` where it is, `rejected`, `dropped` or `untouched`. */
export type PacketOutcome = string;

/** A packet that is translated: to one of these endpoints. */
export interface Translated {
  readonly endpoints: readonly ReferenceEndpoint[];
  readonly masquerade: boolean;
}

export function describeTranslated({ endpoints, masquerade }: Translated): PacketOutcome {
  return describeForwarded(
    endpoints.map(({ name }) => name),
    masquerade,
  );
}

export function describeForwarded(endpoints: readonly string[], masquerade: boolean): PacketOutcome {
  return `to ${[...endpoints].sort().join(', ')}${masquerade ? ' masqueraded' : ''}`;
}

/** The chain for external destinations (B.1.7, 7a to 7e; A10); undefined where the packet falls out of it. */
export function externalChain(
  port: ReferencePort,
  packet: Packet,
  settings: ReferenceSettings,
): Translated | undefined {
  if (!port.externalLocal) return { endpoints: port.cluster, masquerade: true };
  if (settings.hasDetector && packet.isPod) return { endpoints: port.cluster, masquerade: false };
  if (packet.isOutput) return { endpoints: port.cluster, masquerade: true };
  return port.local.length === 0 ? undefined : { endpoints: port.local, masquerade: false };
}

/** The chain for the ClusterIP, and the rule that masquerades. */
export function internalChain(port: ReferencePort, packet: Packet, settings: ReferenceSettings): Translated {
  return {
    endpoints: port.internalLocal ? port.local : port.cluster,
    masquerade: settings.masqueradeAll || (settings.hasDetector && !packet.isPod),
  };
}

export const isUsable = (port: ReferencePort, isLocal: boolean): boolean =>
  port.hasAny && !(isLocal && port.local.length === 0);
