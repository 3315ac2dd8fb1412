import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { settings } from '../plan/testing/settings.ts';
import { FamilySync } from './family-sync.ts';
import type { CompletedSync } from './sync-observer.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function started() {
  const clock = new FakeClock();
  const seen = { pendingServices: -1, pendingSlices: -1, failures: 0 };
  let last: CompletedSync | undefined;
  const sync = new FamilySync(
    { settings: settings(), intervals: { min: 1, retry: 30_000, max: 3_600_000 } },
    {
      proxier: { sync: async () => ({ operations: 1 }), close() {} },
      clock,
      logger: silentLogger,
      reportProblem: () => {},
      reportLostFrontend: () => {},
      observer: {
        serviceChanged: (_family, pending) => {
          seen.pendingServices = pending;
        },
        endpointsChanged: (_family, pending) => {
          seen.pendingSlices = pending;
        },
        queued() {},
        started() {},
        completed: (result) => {
          last = result;
        },
        failed: () => seen.failures++,
      },
    },
  );
  sync.servicesSynced();
  sync.endpointSlicesSynced();
  const stop = new AbortController();
  const ended = sync.start(stop.signal);
  return { clock, sync, seen, last: () => last, stop, ended };
}

/**
 * One Service with names and addresses that never come back; each number is another order of events. All of it takes less than the
 * hour after which a full sync starts from nothing.
 */
async function round({ sync, clock }: ReturnType<typeof started>, number: number): Promise<void> {
  const name = `service-${number}-with-a-name-of-its-own`;
  const slices = [`${name}-abcde`, `${name}-fghij`];
  const octets = `${number >>> 8}.${number & 255}`;
  const create = () =>
    sync.setService(
      service({
        name,
        type: 'LoadBalancer',
        clusterIP: `10.100.${octets}`,
        externalIPs: [`198.18.${octets}`, '198.51.100.1'],
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 1 + number,
        ports: [{ nodePort: 10_000 + number }],
      }),
    );
  const lastChangeTriggerTime = new Date(clock.now() + 1).toISOString();
  for (const [index, sliceName] of slices.entries())
    sync.setEndpointSlice(
      slice({
        name: sliceName,
        // Every fifth Service never exists; the other slice of every third belongs to another Service first.
        serviceName: index === 1 && number % 3 === 0 ? `former-${name}` : name,
        endpoints: [endpoint(`10.0.${octets}`, { nodeName: 'node1' })],
        lastChangeTriggerTime,
      }),
    );
  if (number % 5 !== 0) create();
  if (number % 7 !== 0) await clock.advance(1);
  if (number % 3 === 0) sync.setEndpointSlice(slice({ name: slices[1]!, serviceName: name }));
  if (number % 4 === 0) await clock.advance(1);
  if (number % 2 === 0) sync.deleteService('default', name);
  if (number % 4 < 2) await clock.advance(1);
  for (const sliceName of slices) sync.deleteEndpointSlice('default', sliceName);
  if (number % 2 !== 0) sync.deleteService('default', name);
  await clock.advance(1);
}

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('Services and slices whose names never come back leave nothing behind (C126)', async () => {
  const context = started();
  const { sync, seen } = context;
  await context.clock.advance(0);
  let number = 0;
  while (number < 1000) await round(context, number++);
  expect(sync.planner.plan.servicePorts.size).toBe(0);
  const sizes = [heapUsed()];
  for (const end of [3000, 5000, 7000]) {
    while (number < end) await round(context, number++);
    sizes.push(heapUsed());
  }
  const grown = sizes.slice(1).map((size, index) => size - sizes[index]!);

  await context.clock.advance(1);
  expect(sync.planner.plan.servicePorts.size).toBe(0);
  expect(sync.healthChecks().size).toBe(0);
  expect(sync.oldestChangeAge()).toBe(0);
  expect(context.last()!.triggerTimes.size).toBe(0);
  expect(seen.failures).toBe(0);
  // Objects that concern nobody tell how much is pending.
  sync.deleteService('default', 'none');
  sync.setEndpointSlice(slice({ name: 'none', serviceName: '' }));
  expect(seen).toMatchObject({ pendingServices: 0, pendingSlices: 0 });
  // The compiler's own needs come and go; what is left behind would be there each time. A single map with a single
  // entry for each round would take more than this.
  expect(Math.min(...grown)).toBeLessThan(2000 * 60);
  context.stop.abort();
  await context.ended;
});
