import type { RequestOutcome } from '../../test/netns/testbed/agent-protocol.ts';
import type { Testbed } from '../../test/netns/testbed/testbed.ts';
import type { Check, CheckExpectation } from './checks.ts';
import { ownerOf } from './shop-network.ts';

/** Requests of a line: a pod that takes a quarter of them is missed once in ten thousand lines. */
export const REQUESTS = 32;

/** A check with what came of it, ready to print. */
export interface CheckResult {
  readonly check: Check;
  readonly passed: boolean;
  /** Requests by name of the pod that answered. */
  readonly answers: ReadonlyMap<string, number>;
  /** Requests by kind of failure. */
  readonly failures: ReadonlyMap<string, number>;
  /** How the pods saw the client. */
  readonly seen: readonly string[];
}

/** Makes the requests of one line and judges them. */
export async function runCheck(bed: Testbed, check: Check): Promise<CheckResult> {
  const outcomes = await bed.probe({
    from: check.from,
    to: check.to,
    count: REQUESTS,
    inSequence: 'onePodOf' in check.expect,
    ...(check.proto === undefined ? {} : { proto: check.proto }),
  });
  return judge(check, outcomes);
}

/** Compares outcomes with what the check expects. */
export function judge(check: Check, outcomes: readonly RequestOutcome[]): CheckResult {
  const answers = new Map<string, number>();
  const failures = new Map<string, number>();
  const seen = new Set<string>();
  for (const outcome of outcomes) {
    if ('server' in outcome) {
      count(answers, ownerOf(addressOf(outcome.server)));
      seen.add(ownerOf(addressOf(outcome.client)));
    } else {
      count(failures, 'failure' in outcome ? outcome.failure : `status ${outcome.status}`);
    }
  }
  const sorted = new Map([...answers].sort(([a], [b]) => a.localeCompare(b)));
  const result = { check, answers: sorted, failures, seen: [...seen].sort() };
  return { ...result, passed: isExpected(check.expect, result) };
}

function isExpected(expect: CheckExpectation, result: Omit<CheckResult, 'passed'>): boolean {
  const pods = [...result.answers.keys()];
  const failures = [...result.failures.keys()];
  if ('failure' in expect)
    return pods.length === 0 && failures.length === 1 && failures[0] === expect.failure;
  if (failures.length > 0 || result.seen.some((name) => !expect.seen.includes(name))) return false;
  if ('onePodOf' in expect) return pods.length === 1 && pods.every((pod) => expect.onePodOf.includes(pod));
  return pods.length === expect.pods.length && pods.every((pod) => expect.pods.includes(pod));
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function addressOf(hostPort: string): string {
  return hostPort.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
}
