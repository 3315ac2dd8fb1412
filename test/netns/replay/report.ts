import { stringify } from 'yaml';
import type { BlockFailure, ScenarioResult } from './replay-scenario.ts';
import type { ProbeFailure } from './run-probes.ts';

/** What went wrong, in a few lines: the probes with what was expected and what came. */
export function shortReport({ scenario, failures }: ScenarioResult): string {
  return [`${scenario.name}: ${scenario.about}`, ...failures.flatMap(blockLines)].join('\n');
}

/** The short report followed by all that is needed to find the cause: objects, rules and the log of the proxy. */
export function fullReport(result: ScenarioResult): string {
  const details = result.failures.flatMap(({ step, objects, ruleset, proxyLog }) => [
    `--- step ${step}: objects`,
    objects.map((object) => stringify(object, { flowCollectionPadding: false })).join('---\n'),
    `--- step ${step}: rules of node1`,
    ruleset,
    `--- step ${step}: log of the proxy`,
    proxyLog,
  ]);
  return [shortReport(result), ...details].join('\n');
}

function blockLines({ step, about, error, probes }: BlockFailure): string[] {
  const title = step === 0 ? 'before the steps' : `step ${step}${about === undefined ? '' : ` (${about})`}`;
  return [`  ${title}:${error === undefined ? '' : ` ${error}`}`, ...probes.flatMap(probeLines)];
}

function probeLines({ probe, expected, got, reasons }: ProbeFailure): string[] {
  const labels = (['conn', 'sticky', 'gap', 'share', 'path'] as const)
    .filter((field) => probe[field] !== undefined)
    .map((field) => ` ${field}=${probe[field]}`);
  return [
    `    ${probe.from} → ${probe.to} ${probe.proto ?? 'tcp'}${labels.join('')}`,
    `      expected ${typeof expected === 'string' ? expected : JSON.stringify(expected)}`,
    `      got      ${got}`,
    ...reasons.map((reason) => `      ${reason}`),
    ...(probe.note === undefined ? [] : [`      note: ${probe.note}`]),
  ];
}
