import type { Verdict } from '../verdict.ts';

/** A set or map of the table, written `@name`. */
export interface SetReference {
  readonly set: string;
}

/**
 * A set written in place: `{ 10.0.0.0/8, 192.168.1.1 }`. Values are single fields: addresses, CIDRs or
 * `from-to` ranges of addresses, protocols, numbers. Order and overlap do not matter.
 */
export interface AnonymousSet {
  readonly values: readonly (string | number)[];
}

/** A verdict map written in place: `{ 0 : goto a, 1 : goto b }`. */
export interface AnonymousVerdictMap {
  readonly verdicts: readonly (readonly [key: string | number, verdict: Verdict])[];
}

/** A map to addresses, or addresses and ports, written in place: `{ 0 : 10.0.0.1 . 80, 1 : 10.0.0.2 . 80 }`. */
export interface AnonymousAddressMap {
  readonly addresses: readonly (readonly [key: string | number, address: string, port?: number])[];
}
