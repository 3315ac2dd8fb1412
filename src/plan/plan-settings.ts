import type { IpFamily } from '../base/ip.ts';
import type { LocalTrafficDetector } from '../model/local-traffic-detector.ts';

/**
 * What a plan depends on besides Services and endpoints: configuration, and facts about this node that can change
 * while it runs. Plain data; a new value replaces the old one as a whole.
 */
export interface PlanSettings {
  readonly family: IpFamily;
  /** Name of the Node object; endpoints with this nodeName are local. */
  readonly nodeName: string;
  /** Value of the Node's label `topology.kubernetes.io/zone`, `''` where absent. */
  readonly zone: string;
  /** Address of this node in this family; the loopback address where unknown. Used for source ranges only (spec A12). */
  readonly nodeIP: string;
  /** How to tell that a packet comes from a pod of this node. */
  readonly localTraffic: LocalTrafficDetector;
  /** Masquerade all traffic to ClusterIPs. */
  readonly masqueradeAll: boolean;
  /** Bit mask of the packet mark that asks for masquerading, e.g. 0x4000. */
  readonly masqueradeMark: number;
  /** Addresses of this node that take NodePort traffic, sorted; `'all'` for every local address (spec A.6.2). */
  readonly nodePortAddresses: 'all' | readonly string[];
  /** Node ports also answer on 127.0.0.1 (iptables mode, IPv4). */
  readonly localhostNodePorts: boolean;
  /** Networks that ClusterIPs come from, sorted; empty where unknown. */
  readonly serviceCIDRs: readonly string[];
  /** Serve `spec.externalIPs` (feature gate AllowServiceExternalIPs). */
  readonly allowExternalIPs: boolean;
}

/** Whether two settings are the same in every field. */
export function equalSettings(a: PlanSettings, b: PlanSettings): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
