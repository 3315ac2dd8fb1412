import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { FakeIptables } from '../dataplane/iptables/testing/fake-iptables.ts';
import { testProxier } from '../dataplane/iptables/testing/synced.ts';
import { NftablesProxier } from '../dataplane/nftables/nftables-proxier.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { ProxyHealth } from '../health/proxy-health.ts';
import { ServiceHealthServer } from '../health/service-health-server.ts';
import { FairleadMetrics } from '../metrics/fairlead-metrics.ts';
import { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { settings } from '../plan/testing/settings.ts';
import { KnownObjects } from '../source/apiserver/known-objects.ts';
import { FamilySync } from '../sync/family-sync.ts';
import { familySinks } from './family-sinks.ts';
import { NodeWatch } from './node-watch.ts';
import { ProblemLog } from './problem-log.ts';
import { ServiceNetworks } from './service-networks.ts';
import { SyncEffects } from './sync-effects.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const ROUNDS = 1000;

/** All that a change passes from the watch to the kernel, for one family; the kernel forgets at once. */
function chain(proxierOf: (clock: FakeClock) => Proxier) {
  const clock = new FakeClock();
  const health = new ProxyHealth({ syncPeriod: 30_000 }, { clock });
  const dependencies = { clock, logger: silentLogger };
  const metrics = { metrics: new ProxyMetrics(), ownMetrics: new FairleadMetrics() };
  const effects = new SyncEffects({ ...metrics, ...dependencies, health });
  const problems = new ProblemLog(silentLogger);
  const sync = new FamilySync(
    { settings: settings(), intervals: { min: 1, retry: 30_000, max: 3_600_000 } },
    {
      ...dependencies,
      proxier: proxierOf(clock),
      observer: effects,
      reportProblem: (problem) => problems.report(problem),
      reportLostFrontend: () => {},
    },
  );
  const serviceHealth = new ServiceHealthServer(
    { family: 'IPv4', addresses: [] },
    { ...dependencies, isProxyHealthy: () => true, onListenFailure: () => {} },
  );
  effects.add('IPv4', {
    sync,
    serviceHealth,
    conntrack: undefined,
    onStarted: () => {},
    onFirstSync: () => {},
  });
  const sinks = familySinks([sync], new NodeWatch('node1', clock), new ServiceNetworks(() => {}), problems);
  const services = new KnownObjects(sinks.services);
  const slices = new KnownObjects(sinks.endpointSlices);
  services.markSynced();
  slices.markSynced();
  const stop = new AbortController();
  const ended = sync.start(stop.signal);
  return { clock, sync, services, slices, problems, stop, ended };
}

/** One Service of many kinds, with names and addresses that never come back; each number is another order of events. */
async function round({ clock, services, slices }: ReturnType<typeof chain>, number: number): Promise<void> {
  const octets = `${number >>> 8}.${number & 255}`;
  const name = `service-${number}-with-a-name-of-its-own`;
  const resourceVersion = String(number);
  const created = service({
    name,
    resourceVersion,
    type: 'LoadBalancer',
    clusterIP: `10.100.${octets}`,
    externalIPs: [`198.18.${octets}`, '198.51.100.1'],
    sessionAffinity: number % 3 === 0 ? 'ClientIP' : 'None',
    loadBalancerSourceRanges: number % 4 === 0 ? ['192.0.2.0/24'] : [],
    externalTrafficPolicy: number % 2 === 0 ? 'Local' : 'Cluster',
    healthCheckNodePort: number % 2 === 0 ? 1 + number : 0,
    // Every seventh has a port that cannot be used.
    ports: [{ nodePort: 10_000 + number, port: number % 7 === 0 ? 70_000 : 80 }],
  });
  const part = slice({
    name: `${name}-abcde`,
    resourceVersion,
    serviceName: name,
    endpoints: Array.from({ length: 1 + (number % 9) }, (_, index) =>
      endpoint(`10.${index}.${octets}`, { nodeName: index === 0 ? 'node1' : 'node2' }),
    ),
    lastChangeTriggerTime: new Date(clock.now() + 1).toISOString(),
  });
  slices.set(part);
  if (number % 5 !== 0) services.set(created);
  if (number % 11 !== 0) await clock.advance(20);
  if (number % 2 === 0) services.delete(created);
  if (number % 4 < 2) await clock.advance(20);
  slices.delete(part);
  services.delete(created);
  await clock.advance(20);
}

const kinds: readonly [
  string,
  () => { proxierOf: (clock: FakeClock) => Proxier; left: () => readonly string[] },
][] = [
  [
    'nftables',
    () => {
      const kernel = { commit: ({ size }: { size: number }) => size, listNames: () => undefined, close() {} };
      return {
        proxierOf: (clock) =>
          new NftablesProxier({ family: 'IPv4' }, { kernel, clock, logger: silentLogger }),
        left: () => [],
      };
    },
  ],
  [
    'iptables',
    () => {
      const iptables = new FakeIptables();
      return {
        proxierOf: (clock) => {
          const { proxier } = testProxier({}, { iptables, clock });
          return {
            async sync(plan, diff) {
              const report = await proxier.sync(plan, diff);
              iptables.inputs.length = 0;
              return report;
            },
            close: () => proxier.close(),
          };
        },
        left: () => iptables.dump().match(/KUBE-(SVC|SVL|SEP|FW|EXT)-\w+/g) ?? [],
      };
    },
  ],
];

test.each(kinds)(
  '%s: nothing is left of Services that are gone, from the watch to the kernel (C126)',
  { timeout: 120_000 },
  async (_mode, make) => {
    const { proxierOf, left } = make();
    const context = chain(proxierOf);
    const { clock, sync, services, slices, problems } = context;
    await clock.advance(0);
    /** What may be deleted only after a while is gone, too. */
    const measured = async () => {
      for (const number of [60_001, 60_002]) {
        await clock.advance(5000);
        await round(context, number);
      }
      collectGarbage();
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    let number = 1;
    const rounds = async (count: number) => {
      for (const end = number + count; number < end; number++) await round(context, number);
      return measured();
    };
    const sizes = [await rounds(600)];
    for (let window = 0; window < 4; window++) sizes.push(await rounds(ROUNDS));
    const grown = sizes.slice(1).map((size, index) => size - sizes[index]!);

    expect(sync.planner.plan.servicePorts.size).toBe(0);
    expect(sync.healthChecks().size).toBe(0);
    expect(sync.oldestChangeAge()).toBe(0);
    expect([services.size, slices.size]).toEqual([0, 0]);
    expect([...problems.objects()]).toEqual([]);
    expect(left()).toEqual([]);
    // The compiler's own needs come and go; what is left behind would be there each time. A single map with a single
    // entry for each round would take more than this.
    expect(Math.min(...grown)).toBeLessThan(ROUNDS * 60);
    context.stop.abort();
    await context.ended;
  },
);
