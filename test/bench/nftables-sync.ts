import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { buildFullSync } from '../../src/dataplane/nftables/full-sync.ts';
import { NftablesProxier } from '../../src/dataplane/nftables/nftables-proxier.ts';
import { namedSets } from '../../src/dataplane/nftables/sets.ts';
import { NftablesConnection } from '../../src/kernel/nftables/nftables-connection.ts';
import { EndpointSliceCache } from '../../src/model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../../src/model/service-change-tracker.ts';
import { Planner } from '../../src/plan/planner.ts';
import { settings } from '../../src/plan/testing/settings.ts';
import { syntheticService, syntheticSlice } from './synthetic-cluster.ts';

/**
 * Times syncs of the nftables dataplane in the network namespace it is started in: `nftables-sync.ts SERVICES ENDPOINTS`.
 * Prints one JSON line; all times in milliseconds.
 */
const services = Number(process.argv[2] ?? 10_000);
const endpoints = Number(process.argv[3] ?? 10);
const CHANGES = 2000;
const WARM_UP = 300;

const tracker = new ServiceChangeTracker('IPv4', fail);
const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node-1', report: fail });
const kernel = NftablesConnection.open();
const proxier = new NftablesProxier({ family: 'IPv4' }, { kernel, clock: systemClock, logger: silentLogger });
const planner = new Planner(settings(), fail);
const input = { services: tracker.services, endpoints: slices.endpoints.bind(slices) };
let version = 1;

const model = time(() => {
  for (let i = 0; i < services; i++) {
    tracker.update(syntheticService(i));
    slices.update(syntheticSlice(i, endpoints, version));
  }
  tracker.checkout();
  slices.checkout();
});
const plan = Array.from({ length: 3 }, () => time(() => planner.replan(input, settings())));
const render = Array.from({ length: 3 }, () =>
  time(() => buildFullSync(planner.plan, 'ip', namedSets('ip'), undefined)),
);
const { transaction } = buildFullSync(planner.plan, 'ip', namedSets('ip'), undefined);
const encode = Array.from({ length: 3 }, () => time(() => transaction.encode()));
const first = await timeAsync(() => proxier.sync(planner.plan, undefined));
const again: number[] = [];
for (let i = 0; i < 3; i++) again.push(await timeAsync(() => proxier.sync(planner.plan, undefined)));

const result = {
  services,
  endpoints,
  model,
  plan: Math.min(...plan),
  render: Math.min(...render),
  encode: Math.min(...encode),
  first,
  again: Math.min(...again),
  // The count moves between endpoints-1 and endpoints+1, or one address is replaced by another.
  endpointChange: await changes((i, k) => {
    const count = endpoints + [-1, 1, 0][k % 3]!;
    slices.update(syntheticSlice(i, count, ++version, 1 + (k % 7)));
  }),
  // The count crosses a power of two, so the Service moves to another chain.
  slotsChange: await changes(
    (i, k) => void slices.update(syntheticSlice(i, k % 2 === 0 ? 33 : 20, ++version)),
    200,
  ),
  serviceAdded: await changes((_, k) => {
    tracker.update(syntheticService(services + k));
    slices.update(syntheticSlice(services + k, endpoints, ++version));
  }, 200),
};
console.log(JSON.stringify(result));

async function changes(
  make: (service: number, k: number) => void,
  count = CHANGES,
): Promise<{ p50: number; p99: number; max: number; operations: number }> {
  const times: number[] = [];
  let operations = 0;
  for (let k = -WARM_UP; k < count; k++) {
    if (k < 0 && count < CHANGES) continue;
    make(((k + WARM_UP) * 7919) % services, Math.abs(k));
    const touched = new Set([...tracker.checkout().keys(), ...slices.checkout().keys()]);
    let synced = 0;
    const elapsed = await timeAsync(async () => {
      const report = await proxier.sync(planner.plan, planner.update(input, touched));
      synced = report.operations;
    });
    if (k < 0) continue;
    operations += synced;
    times.push(elapsed);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return { p50: at(0.5), p99: at(0.99), max: times.at(-1)!, operations: operations / count };
}

function time(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

async function timeAsync(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function fail(problem: unknown): never {
  throw new Error(`the synthetic cluster has a problem: ${JSON.stringify(problem)}`);
}
