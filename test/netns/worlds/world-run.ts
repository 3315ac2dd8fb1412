import { cleanNode } from '../replay/clean-node.ts';
import type { FairleadProcess } from '../replay/fairlead-process.ts';
import { ObjectWorld } from '../replay/object-world.ts';
import { describeObservation, observe } from '../replay/observation.ts';
import { proxyConfiguration } from '../replay/proxy-config.ts';
import { createFeed, type FeedKind } from '../replay/replay-pool.ts';
import type { KubeObject, ReplayMode } from '../replay/scenario.ts';
import { delay, settle } from '../replay/settle.ts';
import { markerService, markerSlices, standingObjects } from '../replay/standing-objects.ts';
import type { RequestOutcome } from '../testbed/agent-protocol.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { OpenConnections } from './open-connections.ts';
import { predictPlans, worldConfiguration } from './predicted-plans.ts';
import { Random } from './random.ts';
import { drawConfig, RandomWorld, type WorldChange, type WorldConfig } from './random-world.ts';
import { drawProbes, type WorldExpectation, type WorldProbe } from './world-probes.ts';

/** Requests that are expected to be dropped need not wait as long as those that may be answered late. */
const DROPPED_MILLISECONDS = 400;
/** A probe that goes wrong is made again this often: what is wrong in the kernel stays wrong. */
const REPEATS = 3;
const REPEAT_AFTER_MILLISECONDS = 300;
const SETTLE_MILLISECONDS = 60_000;

export interface WorldOptions {
  readonly seed: number;
  readonly steps: number;
  readonly mode: ReplayMode;
  readonly probesPerStep: number;
  /** Where the proxy reads its objects; default `files`. */
  readonly feed?: FeedKind;
}

export interface WorldFailure {
  readonly seed: number;
  readonly step: number;
  readonly mode: ReplayMode;
  readonly config: WorldConfig;
  readonly probes: readonly { readonly probe: WorldProbe; readonly got: string }[];
  /** The proxy ended, or did not follow. */
  readonly problem?: string;
  readonly changes: readonly WorldChange[];
  readonly objects: readonly KubeObject[];
  readonly ruleset: string;
  readonly proxyLog: string;
}

export interface WorldResult {
  readonly failures: readonly WorldFailure[];
  readonly probes: number;
}

/**
 * Lets the proxy follow a world that changes at random, and compares after each change what packets meet with what a
 * plan made from scratch predicts; established connections must go on. Ends at the first step that differs.
 */
export async function runWorld(
  bed: Testbed,
  proxy: FairleadProcess,
  { seed, steps, mode, probesPerStep, feed: feedKind = 'files' }: WorldOptions,
): Promise<WorldResult> {
  const random = new Random(seed);
  const config = drawConfig(random);
  const world = new RandomWorld(random, bed.topology);
  await cleanNode(bed);
  const feed = await createFeed(feedKind, bed);
  const objects = new ObjectWorld(feed);
  const { location } = feed;
  const kubeconfig = 'kubeconfig' in location ? location.kubeconfig : undefined;
  const start = () =>
    proxy.start({
      config: proxyConfiguration(mode, worldConfiguration(config), kubeconfig),
      mode,
      objects: location,
    });
  const connections = new OpenConnections(bed);
  const failures: WorldFailure[] = [];
  let probeCount = 0;
  try {
    await objects.apply([...standingObjects(bed.topology, {}), ...markerSlices(bed.topology)]);
    let isRunning = random.chance(0.5);
    if (isRunning) await start();
    for (let step = 0; step < steps && failures.length === 0; step++) {
      const changes = step === 0 ? world.begin() : world.change();
      if (step > 0 && random.chance(0.12)) {
        await proxy.stop();
        isRunning = false;
      }
      await make(changes, objects);
      await objects.apply([markerService(step)]);
      if (!isRunning) await start();
      isRunning = true;
      const unsettled = await settle(bed, proxy, step, SETTLE_MILLISECONDS).then(
        () => undefined,
        (error: Error) => error.message,
      );
      const families = predictPlans(objects.objects(), config, mode, bed.topology);
      const probes = drawProbes(random, families, bed.topology, probesPerStep);
      probeCount += probes.length;
      const wrong: { probe: WorldProbe; got: string }[] = [];
      if (unsettled === undefined) {
        wrong.push(...(await runWorldProbes(bed, probes)));
        wrong.push(...(await connections.check()));
        if (wrong.length === 0) await connections.add(probes);
      }
      const problem = unsettled ?? proxy.crash();
      if (wrong.length === 0 && problem === undefined) continue;
      failures.push({
        seed,
        step,
        mode,
        config,
        probes: wrong,
        changes,
        objects: objects.objects(),
        ruleset: await bed.run('node1', ['nft', 'list', 'ruleset']).catch((error: Error) => error.message),
        ...(problem === undefined ? {} : { problem }),
        proxyLog: proxy.log(),
      });
    }
  } finally {
    await proxy.stop().finally(() => feed.close());
  }
  return { failures, probes: probeCount };
}

async function make(changes: readonly WorldChange[], objects: ObjectWorld): Promise<void> {
  for (const change of changes) {
    if ('apply' in change) await objects.apply([change.apply]);
    else await objects.delete(change.delete);
  }
}

/** Makes the probes of one source one after another, because affinity is a matter of what it did before. */
async function runWorldProbes(
  bed: Testbed,
  probes: readonly WorldProbe[],
): Promise<{ probe: WorldProbe; got: string }[]> {
  const bySource = Map.groupBy(probes, ({ from }) => from);
  const wrong: { probe: WorldProbe; got: string }[] = [];
  await Promise.all(
    [...bySource.values()].map(async (own) => {
      for (const probe of own) {
        const got = await runWorldProbe(bed, probe);
        if (got !== undefined) wrong.push({ probe, got });
      }
    }),
  );
  return wrong;
}

/** Resolves to what was met instead of the expected; undefined when all is well. */
async function runWorldProbe(bed: Testbed, probe: WorldProbe): Promise<string | undefined> {
  const nodeAddresses = new Set(bed.topology.nodes['node1']!.allIPs);
  const { from, to, proto, count, expected } = probe;
  const isDropped = expected.kind === 'failed' && expected.word === 'timeout';
  let seen: RequestOutcome[] = [];
  for (let round = 0; ; round++) {
    const outcomes = await bed.probe({
      from,
      to,
      proto,
      count,
      inSequence: expected.kind === 'sticky',
      ...(isDropped ? { timeoutMilliseconds: DROPPED_MILLISECONDS } : {}),
    });
    seen = [...seen, ...outcomes];
    const observation = observe(seen, nodeAddresses);
    const verdict = judge(expected, observation);
    if (verdict === 'right') return undefined;
    if (round === REPEATS) return describeObservation(observation);
    if (verdict === 'wrong') {
      seen = [];
      await delay(REPEAT_AFTER_MILLISECONDS);
    }
  }
}

/** `incomplete`: some servers are still missing, and no other answered. */
function judge(
  expected: WorldExpectation,
  { servers, failures, http }: ReturnType<typeof observe>,
): 'right' | 'wrong' | 'incomplete' {
  switch (expected.kind) {
    case 'failed': {
      const isRight =
        servers.size === 0 && http.length === 0 && [...failures.keys()].join() === expected.word;
      return isRight ? 'right' : 'wrong';
    }
    case 'health': {
      const isRight = http.every(
        ({ status, weight }) => status === expected.status && weight === expected.weight,
      );
      return http.length > 0 && failures.size === 0 && isRight ? 'right' : 'wrong';
    }
    default: {
      if (failures.size > 0 || servers.size === 0) return 'wrong';
      for (const [server, { sources }] of servers) {
        const allowed = expected.servers.get(server);
        if (allowed === undefined) return 'wrong';
        for (const source of sources) if (!allowed.some((kind) => kind === source)) return 'wrong';
      }
      if (expected.kind === 'sticky') return servers.size === 1 ? 'right' : 'wrong';
      return servers.size === expected.servers.size ? 'right' : 'incomplete';
    }
  }
}
