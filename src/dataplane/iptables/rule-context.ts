import type { IpFamily } from '../../base/ip.ts';
import type { LocalTrafficDetector } from '../../model/local-traffic-detector.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';

/** Counter objects of the kernel that rules refer to where they exist (spec B.1.0). */
export const ctInvalidCounter = 'ct_state_invalid_dropped_pkts';
export const localhostNodePortsCounter = 'localhost_nps_accepted_pkts';

/** All that the text of rules depends on besides the plan of a ServicePort. */
export interface RuleContext {
  readonly family: IpFamily;
  /** The masquerade mark: `0x` and eight digits. */
  readonly mark: string;
  readonly masqueradeAll: boolean;
  readonly nodeIP: string;
  /** Matches for packets of local pods and for all others; `undefined` where they cannot be told apart. */
  readonly localTraffic: { readonly is: string; readonly isNot: string } | undefined;
  /** Node ports answer on loopback: only ever true for IPv4. */
  readonly localhostNodePorts: boolean;
  readonly nodePortAddresses: 'all' | readonly string[];
  readonly randomFully: boolean;
  readonly conntrackTcpBeLiberal: boolean;
  /** Counter objects that exist. */
  readonly counters: ReadonlySet<string>;
  /** Whether rules that there are many of carry their comment (spec B.1.12). */
  readonly endpointComments: boolean;
}

/** More endpoints than this, and the comments of endpoint rules are left out (spec B.1.12). */
export const LARGE_CLUSTER_ENDPOINTS = 1000;

export type RuleContextParts = Pick<
  RuleContext,
  'randomFully' | 'conntrackTcpBeLiberal' | 'counters' | 'endpointComments'
>;

/** What rules need of the settings, in the form in which iptables takes it. */
export function ruleContext(settings: PlanSettings, parts: RuleContextParts): RuleContext {
  return {
    family: settings.family,
    mark: `0x${settings.masqueradeMark.toString(16).padStart(8, '0')}`,
    masqueradeAll: settings.masqueradeAll,
    nodeIP: settings.nodeIP,
    localTraffic: localTrafficMatch(settings.localTraffic),
    localhostNodePorts: settings.localhostNodePorts && settings.family === 'IPv4',
    nodePortAddresses: settings.nodePortAddresses,
    ...parts,
  };
}

/** The match for packets of pods on this node, and its negation, where they can be told (spec A.6.1). */
function localTrafficMatch(detector: LocalTrafficDetector): RuleContext['localTraffic'] {
  switch (detector.kind) {
    case 'cidr':
      return negatable(`-s ${detector.cidr}`);
    case 'bridgeInterface':
      return negatable(`-i ${detector.name}`);
    case 'interfaceNamePrefix':
      return negatable(`-i ${detector.prefix}+`);
    case 'none':
      return undefined;
  }
}

function negatable(match: string): { is: string; isNot: string } {
  return { is: match, isNot: `! ${match}` };
}
