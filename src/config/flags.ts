import type { FlagDefinition } from './flag-definition.ts';
import { generalFlags } from './general-flags.ts';
import { processFlags } from './process-flags.ts';
import { proxyFlags } from './proxy-flags.ts';

/** Every flag of kube-proxy 1.36 with its default (operations 1.2), and our own. */
const flags = { ...generalFlags, ...proxyFlags, ...processFlags };

export type FlagName = keyof typeof flags;

/** The value type of each flag. */
export type FlagValues = {
  readonly [Name in FlagName]: (typeof flags)[Name] extends FlagDefinition<infer T> ? T : never;
};

export const flagNames: readonly FlagName[] = Object.keys(flags).filter(isFlagName);

/** Whether a name, already with dashes for underscores, is that of a flag. */
export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flags, name);
}

/** The definition of a flag whose type the caller does not know. Values go in and out as the parser made them. */
export function flagDefinition(name: FlagName): FlagDefinition<unknown> {
  return flags[name] as unknown as FlagDefinition<unknown>;
}
