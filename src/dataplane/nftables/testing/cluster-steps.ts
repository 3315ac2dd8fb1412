import type { ServiceFields } from '../../../model/testing/objects.ts';
import type { PlanSettings } from '../../../plan/plan-settings.ts';
import { TestCluster } from '../../testing/test-cluster.ts';
import { fakeTable, type TestTable } from './test-table.ts';

/** One change of a cluster, as data. */
export type Step =
  | { readonly kind: 'service'; readonly key: string; readonly fields: ServiceFields }
  | {
      readonly kind: 'slice';
      readonly key: string;
      readonly addresses: readonly string[];
      readonly ports: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'deleted slice'; readonly key: string };

function apply(cluster: TestCluster, step: Step): void {
  if (step.kind === 'service') cluster.service(step.key, step.fields);
  else if (step.kind === 'slice') cluster.slice(step.key, step.ports, step.addresses);
  else cluster.deleteSlice(step.key);
}

/** Ways to bring a cluster into a table. */
export const ways: Readonly<
  Record<string, (settings: Partial<PlanSettings>, steps: readonly Step[]) => Promise<TestTable>>
> = {
  'a full sync': fullSync,
  'partial syncs': stepByStep,
  'partial syncs, endpoints first': (settings, steps) => {
    const services = steps.filter(({ kind }) => kind === 'service');
    return stepByStep(settings, [...steps.filter(({ kind }) => kind !== 'service'), ...services]);
  },
  'partial syncs, by way of other endpoints': (settings, steps) => {
    const others = ['10.9.9.1*', '10.9.9.2', '10.9.9.3'];
    const detour = steps.flatMap((step): Step[] =>
      step.kind === 'slice' ? [{ ...step, addresses: others }, step] : [step],
    );
    return stepByStep(settings, detour);
  },
};

/** Everything at once. */
export async function fullSync(settings: Partial<PlanSettings>, steps: readonly Step[]): Promise<TestTable> {
  const table = fakeTable(new TestCluster(settings));
  for (const step of steps) apply(table.cluster, step);
  await table.fullSync();
  return table;
}

async function stepByStep(settings: Partial<PlanSettings>, steps: readonly Step[]): Promise<TestTable> {
  const table = await fullSync(settings, []);
  for (const step of steps) {
    apply(table.cluster, step);
    await table.partialSync();
    // Stale chains are deleted in some of the syncs and wait in others.
    await table.clock.advance(600);
  }
  return table;
}
