import { ipBytes } from '../../base/ip.ts';
import type { ConntrackFlow } from './conntrack-flow.ts';

/** What a flow has to look like; what is left out may be anything. Addresses are canonical text. */
export interface FlowPattern {
  readonly protocol?: number;
  readonly originalSource?: string;
  readonly originalSourcePort?: number;
  readonly originalDestination?: string;
  readonly originalDestinationPort?: number;
  readonly replySource?: string;
  readonly replySourcePort?: number;
}

/** Compiles a pattern into a test for flow views. Throws RangeError when an address is not canonical. */
export function flowMatches(pattern: FlowPattern): (flow: ConntrackFlow) => boolean {
  const bytesOf = (ip: string | undefined) => (ip === undefined ? undefined : ipBytes(ip));
  const source = bytesOf(pattern.originalSource);
  const destination = bytesOf(pattern.originalDestination);
  const replySource = bytesOf(pattern.replySource);
  const { protocol, originalSourcePort, originalDestinationPort, replySourcePort } = pattern;
  const same = <T>(wanted: T | undefined, is: T) => wanted === undefined || wanted === is;
  return (flow) => {
    const { originalDirection: original, replyDirection: reply } = flow;
    return (
      same(protocol, original.protocol) &&
      same(originalSourcePort, original.sourcePort) &&
      same(originalDestinationPort, original.destinationPort) &&
      same(replySourcePort, reply.sourcePort) &&
      addressIs(flow, source, original.sourceAt) &&
      addressIs(flow, destination, original.destinationAt) &&
      addressIs(flow, replySource, reply.sourceAt)
    );
  };
}

function addressIs(flow: ConntrackFlow, wanted: Uint8Array | undefined, at: number): boolean {
  if (wanted === undefined) return true;
  if (wanted.length !== flow.addressLength) return false;
  for (let i = 0; i < wanted.length; i++) if (flow.bytes[at + i] !== wanted[i]) return false;
  return true;
}
