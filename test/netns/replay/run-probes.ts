import type { RequestOutcome } from '../testbed/agent-protocol.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { type CompareContext, compareProbe, type Verdict } from './compare.ts';
import { describeObservation, observe } from './observation.ts';
import type { Expectation, Probe, ReplayMode } from './scenario.ts';

/** Probes that may run at the same time. */
const PARALLEL_PROBES = 6;
/** How often a probe is repeated while expected servers are missing. */
const REPEATS = 3;

export interface ProbeFailure {
  readonly probe: Probe;
  readonly expected: Expectation;
  /** See {@link describeObservation}. */
  readonly got: string;
  readonly reasons: readonly string[];
}

/** Makes the probes of a block and compares them with the recording for `mode`. Resolves to those that differ. */
export async function runProbes(
  bed: Testbed,
  probes: readonly Probe[],
  mode: ReplayMode,
  context: CompareContext,
): Promise<ProbeFailure[]> {
  const failures: ProbeFailure[] = [];
  for (const group of groupProbes(probes)) {
    const results = await Promise.all(group.map((probe) => runProbe(bed, probe, mode, context)));
    failures.push(...results.filter((failure) => failure !== undefined));
  }
  return failures;
}

/** Splits probes into groups that may run at the same time; `conn`, `sticky`, `gap` and `serial` keep one alone. */
export function groupProbes(probes: readonly Probe[]): Probe[][] {
  const groups: Probe[][] = [];
  let open: Probe[] | undefined;
  for (const probe of probes) {
    if (probe.conn !== undefined || probe.sticky !== undefined || probe.gap !== undefined || probe.serial) {
      groups.push([probe]);
      open = undefined;
    } else if (open === undefined || open.length === PARALLEL_PROBES) {
      open = [probe];
      groups.push(open);
    } else {
      open.push(probe);
    }
  }
  return groups;
}

async function runProbe(
  bed: Testbed,
  probe: Probe,
  mode: ReplayMode,
  context: CompareContext,
): Promise<ProbeFailure | undefined> {
  const expected = probe.expect[mode];
  if (expected === undefined) return undefined; // Not recorded for this mode: the outcome is a random pick.
  const outcomes: RequestOutcome[] = [];
  const maySeeMore = probe.conn === undefined && probe.sticky === undefined;
  let verdict: Verdict = { kind: 'pass' };
  for (let round = 0; round <= (maySeeMore ? REPEATS : 0); round++) {
    outcomes.push(...(await makeRequests(bed, probe)));
    verdict = compareProbe(probe, expected, outcomes, context);
    if (verdict.kind !== 'incomplete') break;
  }
  if (verdict.kind === 'pass') return undefined;
  const reasons =
    verdict.kind === 'fail' ? verdict.reasons : verdict.missing.map((what) => `${what} was never met`);
  return { probe, expected, got: describeObservation(observe(outcomes, context.nodeAddresses)), reasons };
}

function makeRequests(bed: Testbed, probe: Probe): Promise<RequestOutcome[]> {
  return bed.probe({
    from: probe.from,
    to: probe.to,
    count: probe.count,
    inSequence: probe.sticky !== undefined,
    ...(probe.proto === undefined ? {} : { proto: probe.proto }),
    ...(probe.path === undefined ? {} : { path: probe.path }),
    ...(probe.gap === undefined ? {} : { gapMilliseconds: probe.gap }),
    ...(probe.conn === undefined ? {} : { connection: probe.conn }),
  });
}
