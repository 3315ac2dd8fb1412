import type { IpFamily } from '../../base/ip.ts';
import {
  daddr,
  fibSaddrType,
  metaIifname,
  metaL4proto,
  numgenRandom,
  type Selector,
  saddr,
  thDport,
} from '../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../kernel/nftables/statement/statement.ts';
import type { LocalTrafficDetector } from '../../model/local-traffic-detector.ts';
import type { Protocol } from '../../model/service-port.ts';

export type NftFamily = 'ip' | 'ip6';

export const nftFamily = (family: IpFamily): NftFamily => (family === 'IPv4' ? 'ip' : 'ip6');

/** What a packet to a Service address is looked up by: `ip daddr . meta l4proto . th dport`. */
export const serviceKey = (family: NftFamily): readonly Selector[] => [daddr(family), metaL4proto, thDport];

/** What a packet to a node port is looked up by: `meta l4proto . th dport`. */
export const nodePortKey: readonly Selector[] = [metaL4proto, thDport];

/** A frontend's key with a random slot below `mod` behind it. */
export const slotKey = (frontendKey: readonly Selector[], mod: number): readonly Selector[] => [
  ...frontendKey,
  numgenRandom(mod),
];

/** `ip daddr != 127.0.0.0/8`, or `ip6 daddr != ::1`. */
export const notLocalhost = (family: NftFamily): Statement => ({
  kind: 'match',
  left: [daddr(family)],
  op: '!=',
  right: family === 'ip' ? '127.0.0.0/8' : '::1',
});

/** Matches what comes, or does not come, from a pod of this node; `undefined` where there is no way to tell (spec 0.3). */
export function localTraffic(
  family: NftFamily,
  detector: LocalTrafficDetector,
  op: '==' | '!=',
): Statement | undefined {
  switch (detector.kind) {
    case 'cidr':
      return { kind: 'match', left: [saddr(family)], op, right: detector.cidr };
    case 'bridgeInterface':
      return { kind: 'match', left: [metaIifname], op, right: detector.name };
    case 'interfaceNamePrefix':
      return { kind: 'match', left: [metaIifname], op, right: `${detector.prefix}*` };
    case 'none':
      return undefined;
  }
}

/** `fib saddr type local`: sent by this node itself. */
export const fromThisNode: Statement = { kind: 'match', left: [fibSaddrType], op: '==', right: 'local' };

/** `mark set mark or MARK`: asks nat-postrouting to masquerade. */
export const markForMasquerade = (mark: number): Statement => ({ kind: 'mark', op: 'or', value: mark });

export const jump = (chain: string): Statement => ({ kind: 'verdict', verdict: `jump ${chain}` });
export const goto = (chain: string): Statement => ({ kind: 'verdict', verdict: `goto ${chain}` });

/** IP protocol numbers (linux/in.h). */
export const PROTOCOL_NUMBERS: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
