/**
 * What a rule can load from a packet, its connection or its route: nft's primary expressions.
 * A list of selectors is a concatenation, written `ip daddr . meta l4proto . th dport`.
 */
export type Selector = PayloadSelector | MetaSelector | CtSelector | FibSelector | NumgenSelector;

/** A header field. `th` is the transport header, whichever protocol it belongs to. */
export interface PayloadSelector {
  readonly kind: 'payload';
  readonly header: 'ip' | 'ip6' | 'th';
  readonly field: 'saddr' | 'daddr' | 'protocol' | 'nexthdr' | 'sport' | 'dport';
}

/** Facts about the packet kept beside it. */
export interface MetaSelector {
  readonly kind: 'meta';
  readonly key: 'l4proto' | 'nfproto' | 'mark' | 'iifname' | 'oifname';
}

/** Facts about the packet's connection. */
export interface CtSelector {
  readonly kind: 'ct';
  readonly key: 'state' | 'status' | 'mark' | 'direction';
}

/** The type of an address by the routing table. */
export interface FibSelector {
  readonly kind: 'fib';
  readonly of: 'saddr' | 'daddr';
  readonly result: 'type';
}

/** A number below `mod`, random or counting up, plus `offset` (default 0). */
export interface NumgenSelector {
  readonly kind: 'numgen';
  readonly mode: 'random' | 'inc';
  readonly mod: number;
  readonly offset?: number;
}

export const ipSaddr: PayloadSelector = { kind: 'payload', header: 'ip', field: 'saddr' };
export const ipDaddr: PayloadSelector = { kind: 'payload', header: 'ip', field: 'daddr' };
export const ip6Saddr: PayloadSelector = { kind: 'payload', header: 'ip6', field: 'saddr' };
export const ip6Daddr: PayloadSelector = { kind: 'payload', header: 'ip6', field: 'daddr' };
export const thDport: PayloadSelector = { kind: 'payload', header: 'th', field: 'dport' };
export const metaL4proto: MetaSelector = { kind: 'meta', key: 'l4proto' };
export const metaMark: MetaSelector = { kind: 'meta', key: 'mark' };
export const metaIifname: MetaSelector = { kind: 'meta', key: 'iifname' };
export const metaOifname: MetaSelector = { kind: 'meta', key: 'oifname' };
export const ctState: CtSelector = { kind: 'ct', key: 'state' };
export const ctStatus: CtSelector = { kind: 'ct', key: 'status' };
export const fibSaddrType: FibSelector = { kind: 'fib', of: 'saddr', result: 'type' };
export const fibDaddrType: FibSelector = { kind: 'fib', of: 'daddr', result: 'type' };

/** `numgen random mod n`: an even choice among n, made anew for each packet that gets there. */
export const numgenRandom = (mod: number): NumgenSelector => ({ kind: 'numgen', mode: 'random', mod });

/** The source address of a family's packets. */
export const saddr = (family: 'ip' | 'ip6'): PayloadSelector => (family === 'ip' ? ipSaddr : ip6Saddr);

/** The destination address of a family's packets. */
export const daddr = (family: 'ip' | 'ip6'): PayloadSelector => (family === 'ip' ? ipDaddr : ip6Daddr);
