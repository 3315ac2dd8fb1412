/**
 * How a connection finds one of n endpoints without a rule that knows n.
 *
 * The endpoints of a frontend are map elements numbered 0 … n-1. A chain for `slots` (the power of two at or above n)
 * draws a number below `slots` and looks it up; where the number is n or more the lookup fails and the next rule draws
 * again. So a chain serves every Service with slots/2 < n ≤ slots, and adding or removing an endpoint changes a few
 * elements of a plain map, no rule and no verdict. (A verdict map with 10,000 elements costs the kernel milliseconds
 * to re-validate for each change of one of them; a plain map costs microseconds.) See docs/decisions/0001.
 */

/** Slots for n endpoints, n ≥ 1: the power of two at or above n. */
export function slotsFor(endpoints: number): number {
  return endpoints <= 1 ? 1 : 2 ** (32 - Math.clz32(endpoints - 1));
}

/**
 * How often a chain draws below `slots` before it draws below slots/2, where every number is taken, so that a connection
 * always finds an endpoint. Eight misses in a row have a chance below 0.5^8; so the shares of two endpoints differ by
 * less than 0.8 % at the worst (n just above slots/2), and not at all where n equals slots.
 */
export const DRAWS = 8;
