import { isDeepStrictEqual } from 'node:util';
import type { RequestOutcome } from '../testbed/agent-protocol.ts';
import { type Observation, observe } from './observation.ts';
import type {
  AnsweredExpectation,
  Expectation,
  HttpExpectation,
  Probe,
  StickyExpectation,
} from './scenario.ts';

/**
 * `incomplete`: expected servers are missing, but nothing is wrong yet; endpoints are picked at random, so more
 * requests may show them.
 */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'incomplete'; readonly missing: readonly string[] }
  | { readonly kind: 'fail'; readonly reasons: readonly string[] };

export interface CompareContext {
  readonly nodeAddresses: ReadonlySet<string>;
  /** The server that each affinity label has been answered by; extended by passing sticky probes. */
  readonly stickyServers: Map<string, string>;
}

/** Compares what a probe met with what the recording expects. */
export function compareProbe(
  probe: Probe,
  expectation: Expectation,
  outcomes: readonly RequestOutcome[],
  context: CompareContext,
): Verdict {
  const observation = observe(outcomes, context.nodeAddresses);
  const verdict = compare(probe, expectation, observation, context);
  if (verdict.kind === 'pass') return verdict;
  const accepted = (probe.accept ?? []).some(
    (alternative) => compare(probe, alternative, observation, context).kind === 'pass',
  );
  return accepted ? { kind: 'pass' } : verdict;
}

function compare(
  probe: Probe,
  expectation: Expectation,
  seen: Observation,
  context: CompareContext,
): Verdict {
  if (typeof expectation === 'string') return compareFailure(expectation, seen);
  if ('status' in expectation) return compareHttp(probe, expectation, seen);
  if ('oneOf' in expectation) return compareSticky(probe, expectation, seen, context);
  return compareAnswers(probe, expectation, seen);
}

function compareFailure(word: string, { servers, failures, http }: Observation): Verdict {
  const reasons: string[] = [];
  if (servers.size > 0 || http.length > 0)
    reasons.push(`answered, though every request should end as ${word}`);
  for (const failure of failures.keys())
    if (failure !== word) reasons.push(`ended as ${failure}, not ${word}`);
  return verdict(reasons);
}

function compareHttp(probe: Probe, expected: HttpExpectation, seen: Observation): Verdict {
  const reasons = unexpectedFailures(seen, []);
  for (const { status, body, weight } of seen.http) {
    if (status !== expected.status) reasons.push(`status ${status}, not ${expected.status}`);
    if (probe.body !== false && 'body' in expected && !isDeepStrictEqual(body, expected.body)) {
      reasons.push(`body ${JSON.stringify(body)}, not ${JSON.stringify(expected.body)}`);
    }
    if (weight !== expected.weight) reasons.push(`endpoint weight header ${weight}, not ${expected.weight}`);
  }
  return verdict(reasons);
}

function compareSticky(
  probe: Probe,
  expected: StickyExpectation,
  seen: Observation,
  context: CompareContext,
): Verdict {
  const reasons = [...unexpectedFailures(seen, []), ...wrongSources(seen, expected.source)];
  const servers = [...seen.servers.keys()];
  if (servers.length !== 1)
    reasons.push(`${servers.length} servers answered one client: ${servers.join(', ')}`);
  for (const server of servers)
    if (!expected.oneOf.includes(server)) reasons.push(`unexpected server ${server}`);
  const [server] = servers;
  if (probe.sticky !== undefined && server !== undefined && reasons.length === 0) {
    const earlier = context.stickyServers.get(probe.sticky);
    if (earlier === undefined) context.stickyServers.set(probe.sticky, server);
    else if (earlier !== server) reasons.push(`${server} answered, but ${earlier} did before`);
  }
  return verdict(reasons);
}

function compareAnswers(probe: Probe, expected: AnsweredExpectation, seen: Observation): Verdict {
  const reasons = [
    ...unexpectedFailures(seen, expected.errors ?? []),
    ...wrongSources(seen, expected.source),
  ];
  for (const server of seen.servers.keys()) {
    if (!expected.endpoints.includes(server)) reasons.push(`unexpected server ${server}`);
  }
  const missing = expected.endpoints.filter((server) => !seen.servers.has(server));
  const missingErrors = (expected.errors ?? []).filter((word) => !seen.failures.has(word));
  if (reasons.length === 0 && missing.length + missingErrors.length > 0) {
    if (seen.servers.size === 0 && expected.endpoints.length > 0) return verdict(['nothing answered']);
    return { kind: 'incomplete', missing: [...missing, ...missingErrors] };
  }
  return verdict([
    ...reasons,
    ...missing.map((server) => `${server} never answered`),
    ...smallShares(probe, expected, seen),
  ]);
}

function smallShares(probe: Probe, expected: AnsweredExpectation, { servers }: Observation): string[] {
  if (probe.share === undefined) return [];
  const least = probe.share;
  const total = [...servers.values()].reduce((sum, { answers }) => sum + answers, 0);
  return expected.endpoints
    .map((server) => ({ server, share: (servers.get(server)?.answers ?? 0) / total }))
    .filter(({ share }) => share < least)
    .map(({ server, share }) => `${server} has a share of ${share.toFixed(3)}, less than ${least}`);
}

function wrongSources({ servers }: Observation, expected: AnsweredExpectation['source']): string[] {
  const reasons: string[] = [];
  for (const [server, { sources }] of servers) {
    const kind = typeof expected === 'string' ? expected : expected[server];
    for (const source of sources) {
      if (source !== kind)
        reasons.push(`${server} saw source ${source}, not ${kind ?? 'anything: it is not expected'}`);
    }
  }
  return reasons;
}

function unexpectedFailures({ failures }: Observation, expected: readonly string[]): string[] {
  return [...failures]
    .filter(([word]) => !expected.includes(word))
    .map(([word, times]) => `${times} requests ended as ${word}`);
}

function verdict(reasons: readonly string[]): Verdict {
  return reasons.length === 0 ? { kind: 'pass' } : { kind: 'fail', reasons };
}
