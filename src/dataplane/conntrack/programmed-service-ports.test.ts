import { expect, test } from 'vitest';
import type { ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { settings } from '../../plan/testing/settings.ts';
import { ProgrammedServicePorts } from './programmed-service-ports.ts';

/** Only the key and the identity matter. */
const port = (key: string) => ({ key }) as ServicePortPlan;

const planOf = (...ports: ServicePortPlan[]): ProxyPlan => ({
  settings: settings(),
  servicePorts: new Map(ports.map((one) => [one.key, one])),
});

test('the first sync may have changed all there is', () => {
  const a = port('a');
  expect(new ProgrammedServicePorts().update(planOf(a), undefined)).toEqual([
    { before: undefined, after: a },
  ]);
});

test('a partial sync knows itself; a full one is compared with all syncs before it', () => {
  const programmed = new ProgrammedServicePorts();
  const [a, b, c] = [port('a'), port('b'), port('c')];
  programmed.update(planOf(a, b), undefined);
  const newB = port('b');
  const changes = [
    { before: a, after: undefined },
    { before: b, after: newB },
    { before: undefined, after: c },
  ];
  expect(programmed.update(planOf(newB, c), changes)).toBe(changes);
  const newestB = port('b');
  const all = programmed.update(planOf(newestB), undefined);
  expect(all).toHaveLength(2);
  expect(all[0]!.before).toBe(c);
  expect(all[0]!.after).toBeUndefined();
  expect(all[1]!.before).toBe(newB);
  expect(all[1]!.after).toBe(newestB);
  expect(programmed.update(planOf(), undefined)).toHaveLength(1);
  expect(programmed.update(planOf(), undefined)).toEqual([]);
});

test('changes of the plan behind its back are not taken for programmed', () => {
  const servicePorts = new Map([['a', port('a')]]);
  const plan = { settings: settings(), servicePorts };
  const programmed = new ProgrammedServicePorts();
  programmed.update(plan, undefined);
  // A sync that failed has changed the plan, which is live.
  servicePorts.delete('a');
  expect(programmed.update(plan, undefined)).toMatchObject([{ before: { key: 'a' }, after: undefined }]);
});
