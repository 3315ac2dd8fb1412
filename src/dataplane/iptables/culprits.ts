import { IptablesError } from '../../kernel/iptables/iptables-error.ts';
import { policyChainNames } from './chain-decisions.ts';
import type { ProgrammedState } from './programmed-state.ts';
import type { Segment } from './restore-input.ts';

/** What a refused input is to be freed of. */
export interface Culprits {
  /** Keys of ServicePorts. */
  readonly owners: readonly string[];
  /** Chains that somebody else still leads to and that cannot be deleted therefore. */
  readonly undeletable: readonly string[];
  /** What the program said. */
  readonly reason: string;
}

/**
 * Finds who is behind a refusal from the lines, or else the chains, that the program named. Both lists are empty where
 * it named nothing of a ServicePort; `undefined` for errors that say nothing about the input.
 */
export function findCulprits(
  error: unknown,
  segments: Iterable<Segment>,
  state: ProgrammedState,
): Culprits | undefined {
  if (!(error instanceof IptablesError) || error.detail.code !== 'IPTABLES_REFUSED') return undefined;
  const { lines, chains, message } = error.detail;
  const owners = new Set<string>();
  const undeletable = new Set<string>();
  const wanted = lines.toSorted((a, b) => a - b);
  let end = 0;
  for (const segment of segments) {
    if (wanted.length === 0) break;
    end += countLineEnds(segment.text);
    while (wanted.length > 0 && wanted[0]! <= end) {
      wanted.shift();
      if (segment.owner !== undefined) owners.add(segment.owner);
      if (segment.deletes !== undefined) undeletable.add(segment.deletes);
    }
  }
  if (owners.size === 0 && undeletable.size === 0 && chains.length > 0) {
    for (const [key, port] of state.inOrder()) {
      if (policyChainNames(port.decisions).some((name) => chains.includes(name))) owners.add(key);
    }
  }
  return { owners: [...owners], undeletable: [...undeletable], reason: firstLine(message) };
}

/**
 * Splits until the members that `accepts` refuses stand alone. Groups that are accepted cost one call.
 * Throws what `accepts` throws.
 */
export async function bisect<T>(
  members: readonly T[],
  accepts: (group: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  if (members.length === 0 || (await accepts(members))) return [];
  if (members.length === 1) return members;
  const middle = members.length >> 1;
  const first = await bisect(members.slice(0, middle), accepts);
  return [...first, ...(await bisect(members.slice(middle), accepts))];
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** The programs wrap their messages and add usage hints. */
function firstLine(message: string): string {
  const useful = message
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('Try ') && !line.startsWith('Ignoring deprecated'));
  return useful.slice(0, 2).join(' ');
}
