import { expect, test } from 'vitest';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { type NodeState, ProxyHealth } from './proxy-health.ts';

const SECOND = 1000;

function setup() {
  const clock = new FakeClock();
  return { clock, health: new ProxyHealth({ syncPeriod: 5 * SECOND }, { clock }) };
}

test('healthy before anything has started', () => {
  expect(setup().health.report()).toEqual({ healthy: true, nodeEligible: false, families: {} });
});

test('the vectors of both families, timeout 10 s', async () => {
  const { clock, health } = setup();
  const start = clock.now();
  health.updated('IPv4');
  health.updated('IPv6');
  expect(health.isHealthy()).toBe(true);
  await clock.advance(25 * SECOND);
  expect(health.isHealthy()).toBe(true);

  health.queuedUpdate('IPv4');
  await clock.advance(25 * SECOND);
  expect(health.report().healthy).toBe(false);
  expect(health.report().families).toEqual({
    IPv4: { lastUpdated: start, healthy: false },
    IPv6: { lastUpdated: start, healthy: true },
  });

  health.updated('IPv4');
  health.updated('IPv6');
  await clock.advance(5 * SECOND);
  expect(health.isHealthy()).toBe(true);

  health.queuedUpdate('IPv6');
  await clock.advance(25 * SECOND);
  expect(health.isHealthy()).toBe(false);
  health.updated('IPv4');
  expect(health.isHealthy()).toBe(false);
  health.updated('IPv6');
  expect(health.isHealthy()).toBe(true);

  health.queuedUpdate('IPv4');
  health.queuedUpdate('IPv6');
  await clock.advance(25 * SECOND);
  expect(health.isHealthy()).toBe(false);
  health.updated('IPv4');
  expect(health.isHealthy()).toBe(false);
  health.updated('IPv6');
  expect(health.isHealthy()).toBe(true);
});

test('unhealthy exactly at twice the sync period, counted from the oldest queued update', async () => {
  const { clock, health } = setup();
  health.updated('IPv4');
  health.queuedUpdate('IPv4');
  await clock.advance(9 * SECOND);
  health.queuedUpdate('IPv4');
  await clock.advance(999);
  expect(health.isHealthy()).toBe(true);
  await clock.advance(1);
  expect(health.isHealthy()).toBe(false);
});

test('an update queued before the sync loop starts says nothing', async () => {
  const { clock, health } = setup();
  health.queuedUpdate('IPv4');
  await clock.advance(60 * SECOND);
  expect(health.isHealthy()).toBe(true);
  health.updated('IPv4');
  expect(health.isHealthy()).toBe(true);
});

test('a wall clock that is set back or forth changes nothing', async () => {
  const clock = new FakeClock();
  let shift = 0;
  const shifted = {
    now: () => clock.now() + shift,
    monotonic: () => clock.monotonic(),
    schedule: clock.schedule,
  };
  const health = new ProxyHealth({ syncPeriod: 5 * SECOND }, { clock: shifted });
  health.updated('IPv4');
  health.queuedUpdate('IPv4');
  shift = 3600 * SECOND;
  expect(health.isHealthy()).toBe(true);
  shift = -3600 * SECOND;
  await clock.advance(10 * SECOND);
  expect(health.isHealthy()).toBe(false);
});

const NODE: NodeState = { deletionTimestamp: undefined, taints: [] };
test.each<[string, NodeState | undefined, boolean]>([
  ['a Node never seen', undefined, false],
  ['a plain Node', NODE, true],
  ['another taint', { ...NODE, taints: [{ key: 'other' }] }, true],
  ['a similar taint', { ...NODE, taints: [{ key: 'tobedeletedbyclusterautoscaler' }] }, true],
  [
    'the taint of the autoscaler',
    { ...NODE, taints: [{ key: 'other' }, { key: 'ToBeDeletedByClusterAutoscaler' }] },
    false,
  ],
  ['a Node being deleted', { ...NODE, deletionTimestamp: 1 }, false],
])('%s', (_name, node, eligible) => {
  const { health } = setup();
  if (node !== undefined) health.nodeChanged(node);
  expect(health.isNodeEligible()).toBe(eligible);
  expect(health.report()).toEqual({ healthy: true, nodeEligible: eligible, families: {} });
  health.nodeChanged(NODE);
  expect(health.isNodeEligible()).toBe(true);
});
