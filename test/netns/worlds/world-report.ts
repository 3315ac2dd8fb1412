import { stringify } from 'yaml';
import type { KubeObject } from '../replay/scenario.ts';
import type { WorldExpectation } from './world-probes.ts';
import type { WorldFailure } from './world-run.ts';

/** What differed, in a form that tells which seed repeats it. */
export function describeWorldFailure(failure: WorldFailure): string {
  const { seed, step, mode, config, probes, changes, objects } = failure;
  const lines = [`${mode} mode, seed ${seed}, step ${step}, ${JSON.stringify(config)}`];
  if (failure.problem !== undefined) lines.push(`  ${failure.problem}`);
  for (const { probe, got } of probes) {
    lines.push(`  ${probe.from} → ${probe.to}/${probe.proto}`);
    lines.push(`    expected ${describeExpectation(probe.expected)}`, `    got      ${got}`);
    lines.push(...probe.why.map((line) => `    explain: ${line}`));
  }
  const changed = changes.map((change) =>
    'apply' in change ? `${change.apply.kind} ${change.apply.metadata.name}` : `- ${change.delete.name}`,
  );
  lines.push(`  changed: ${changed.join(', ')}`);
  for (const object of objects.filter((candidate) => isConcerned(candidate, probes)))
    lines.push(stringify(object, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd());
  lines.push(failure.proxyLog.slice(-2000));
  return lines.join('\n');
}

/** Objects of the Services that the explanations name. */
function isConcerned({ kind, metadata }: KubeObject, probes: WorldFailure['probes']): boolean {
  if (kind !== 'Service' && kind !== 'EndpointSlice') return false;
  const named = new Set(probes.flatMap(({ probe }) => probe.why.join().match(/svc-\d/g) ?? []));
  return [...named].some((name) => metadata.name === name || metadata.name.startsWith(`${name}-`));
}

function describeExpectation(expected: WorldExpectation): string {
  switch (expected.kind) {
    case 'failed':
      return expected.word;
    case 'health':
      return `status ${expected.status}, weight ${expected.weight}`;
    default: {
      const servers = [...expected.servers].map(
        ([server, seen]) => `${server} (source ${seen.join(' or ')})`,
      );
      return `${expected.kind === 'sticky' ? 'one of ' : ''}${servers.join(', ')}`;
    }
  }
}
