import { expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Proxier, SyncReport } from '../dataplane/proxier.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { settings } from '../plan/testing/settings.ts';
import { FamilySync } from './family-sync.ts';
import type { CompletedSync } from './sync-observer.ts';

function setup() {
  const clock = new FakeClock();
  const syncs: { full: boolean; touched: number }[] = [];
  const completed: CompletedSync[] = [];
  const failures: boolean[] = [];
  const outcomes: ('fail' | 'ok')[] = [];
  const report: SyncReport = { operations: 1 };
  const proxier: Proxier = {
    async sync(_plan, diff) {
      syncs.push({ full: diff === undefined, touched: diff?.length ?? -1 });
      if (outcomes.shift() === 'fail') throw new Error('wanted');
      return report;
    },
    close() {},
  };
  const sync = new FamilySync(
    { settings: settings(), intervals: { min: 1000, retry: 30_000, max: 3_600_000 } },
    {
      proxier,
      clock,
      logger: silentLogger,
      reportProblem: () => {},
      reportLostFrontend: () => {},
      observer: {
        serviceChanged() {},
        endpointsChanged() {},
        queued() {},
        started() {},
        completed: (result) => completed.push(result),
        failed: (_family, full) => failures.push(full),
      },
    },
  );
  const stop = new AbortController();
  void sync.start(stop.signal);
  return { clock, sync, syncs, completed, failures, outcomes, report };
}

async function started() {
  const context = setup();
  context.sync.setService(service());
  context.sync.servicesSynced();
  context.sync.endpointSlicesSynced();
  await context.clock.advance(1000);
  context.syncs.length = 0;
  return context;
}

test('nothing is written before both kinds are known in full', async () => {
  const { clock, sync, syncs } = setup();
  sync.setService(service());
  sync.requestFullSync('test');
  sync.servicesSynced();
  await clock.advance(10_000);
  expect(syncs).toEqual([]);
  sync.endpointSlicesSynced();
  await clock.advance(0);
  expect(syncs).toEqual([{ full: true, touched: -1 }]);
});

test('a change is a partial sync of what it touches', async () => {
  const { clock, sync, syncs, completed } = await started();
  sync.setEndpointSlice(slice({ endpoints: [endpoint('10.0.0.1')] }));
  sync.setEndpointSlice(slice({ endpoints: [endpoint('10.0.0.2')] }));
  await clock.advance(0);
  expect(syncs).toEqual([{ full: false, touched: 1 }]);
  expect(completed.at(-1)).toMatchObject({ full: false, udpEndpointsChanged: false, delays: [{ count: 2 }] });
});

test('the age of the oldest change counts until it is in the kernel', async () => {
  const { clock, sync, outcomes } = await started();
  outcomes.push('fail', 'fail', 'ok');
  sync.setEndpointSlice(slice({ endpoints: [endpoint('10.0.0.1')] }));
  await clock.advance(20_000);
  expect(sync.oldestChangeAge()).toBe(20);
  await clock.advance(10_000);
  expect(sync.oldestChangeAge()).toBe(0);
});

test('a failed first sync is retried', async () => {
  const { clock, sync, syncs, outcomes, failures } = setup();
  outcomes.push('fail');
  sync.servicesSynced();
  sync.endpointSlicesSynced();
  await clock.advance(0);
  expect(failures).toEqual([true]);
  await clock.advance(30_000);
  expect(syncs).toEqual([
    { full: true, touched: -1 },
    { full: true, touched: -1 },
  ]);
});

test('a failed partial sync becomes a full one at once', async () => {
  const { clock, sync, syncs, outcomes, failures, completed } = await started();
  outcomes.push('fail', 'ok');
  sync.deleteService('default', 'web');
  await clock.advance(0);
  expect(syncs.map((one) => one.full)).toEqual([false, true]);
  expect(failures).toEqual([false]);
  expect(completed.at(-1)).toMatchObject({ full: true, changes: undefined });
});

test('new settings take effect at once, equal ones do nothing', async () => {
  const { clock, sync, syncs } = await started();
  sync.updateSettings({ zone: '' });
  await clock.advance(5000);
  expect(syncs).toEqual([]);
  sync.updateSettings({ zone: 'a' });
  await clock.advance(0);
  expect(syncs).toEqual([{ full: true, touched: -1 }]);
  expect(sync.planner.plan.settings.zone).toBe('a');
});

test('everything is looked at again after an hour', async () => {
  const { clock, syncs } = await started();
  await clock.advance(3_600_000);
  expect(syncs).toEqual([{ full: true, touched: -1 }]);
});

test('not after an hour where the proxier says that it need not', async () => {
  const { clock, sync, syncs, report } = await started();
  Object.assign(report, { skipHourlyFullSync: true });
  sync.setEndpointSlice(slice({ endpoints: [endpoint('10.0.0.1')] }));
  await clock.advance(7_200_000);
  expect(syncs.map(({ full }) => full)).toEqual([false, false, false]);
});

test('health checks follow the Services and their local endpoints', async () => {
  const { clock, sync } = await started();
  const lb = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };
  sync.setService(service(lb));
  sync.setEndpointSlice(
    slice({ endpoints: [endpoint('10.0.0.1', { nodeName: 'node1' }), endpoint('10.0.0.2')] }),
  );
  expect(sync.healthChecks()).toEqual(new Map());
  await clock.advance(0);
  expect(sync.healthChecks()).toEqual(new Map([['default/web', { port: 32_000, localReady: 1 }]]));
  sync.setService(service());
  await clock.advance(1000);
  expect(sync.healthChecks()).toEqual(new Map());
});

test('trigger times and UDP changes are handed on with the sync that programs them', async () => {
  const { clock, sync, completed } = await started();
  const lastChangeTriggerTime = new Date(clock.now() + 1000).toISOString();
  sync.setEndpointSlice(slice({ ports: [{ name: '', port: 53, protocol: 'UDP' }], lastChangeTriggerTime }));
  await clock.advance(0);
  expect(completed.at(-1)).toMatchObject({ udpEndpointsChanged: true });
  expect([...completed.at(-1)!.triggerTimes]).toEqual([['default/web', [clock.now() + 1000]]]);
});

test('a failed sync does not forget that conntrack needs a look', async () => {
  const { clock, sync, outcomes, completed } = await started();
  outcomes.push('fail', 'fail', 'ok');
  sync.setEndpointSlice(slice({ ports: [{ name: '', port: 53, protocol: 'UDP' }] }));
  await clock.advance(30_000);
  expect(completed.at(-1)).toMatchObject({ full: true, udpEndpointsChanged: true });
  sync.setService(service({ name: 'other', clusterIP: '10.96.0.11' }));
  await clock.advance(1000);
  expect(completed.at(-1)).toMatchObject({ udpEndpointsChanged: false });
});
