import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { SCENARIO_DIRECTORY } from './scenario.ts';

/** The ways scenarios are replayed: a mode, for iptables with the back-end of the `iptables` programs. */
export const VARIANTS = ['nftables', 'iptables-nft', 'iptables-legacy'] as const;
export type Variant = (typeof VARIANTS)[number];

/** A scenario that Fairlead knowingly does not pass. One that passes after all must be taken off the list. */
export interface Exception {
  readonly scenario: string;
  readonly variants: readonly Variant[];
  readonly reason: string;
}

/** Reads test/scenarios/exceptions.yaml. Throws on an entry without a reason or with an unknown variant. */
export function loadExceptions(): Exception[] {
  return parseExceptions(readFileSync(new URL('exceptions.yaml', SCENARIO_DIRECTORY), 'utf8'));
}

export function parseExceptions(text: string): Exception[] {
  const entries = (parse(text) ?? []) as readonly Partial<Exception>[];
  return entries.map(({ scenario, variants, reason }, index) => {
    if (!scenario) throw new Error(`exceptions.yaml: entry ${index} names no scenario`);
    if (!reason?.trim()) throw new Error(`exceptions.yaml: ${scenario} has no reason`);
    if (!variants?.length) throw new Error(`exceptions.yaml: ${scenario} names no variants`);
    for (const variant of variants) {
      if (!VARIANTS.includes(variant))
        throw new Error(`exceptions.yaml: ${scenario}: unknown variant ${variant}`);
    }
    return { scenario, variants, reason: reason.trim() };
  });
}

/** The reason why a scenario may fail in a variant, if there is one. */
export function exceptionReason(
  exceptions: readonly Exception[],
  scenario: string,
  variant: Variant,
): string | undefined {
  return exceptions.find((entry) => entry.scenario === scenario && entry.variants.includes(variant))?.reason;
}
