import { patient } from '../patience.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { cleanNode } from './clean-node.ts';
import type { CompareContext } from './compare.ts';
import type { ObjectFeed } from './object-feed.ts';
import { ObjectWorld } from './object-world.ts';
import { proxyConfiguration } from './proxy-config.ts';
import type { ProxyUnderTest } from './proxy-under-test.ts';
import { type ProbeFailure, runProbes } from './run-probes.ts';
import type { KubeObject, ReplayMode, Scenario, ScenarioStep } from './scenario.ts';
import { delay, settle } from './settle.ts';
import { markerService, markerSlices, standingObjects } from './standing-objects.ts';

/** A stopped proxy changes nothing: only the objects get a moment to reach their feed. */
const STOPPED_MILLISECONDS = patient(200);

export interface ReplayOptions {
  readonly bed: Testbed;
  readonly mode: ReplayMode;
  readonly proxy: ProxyUnderTest;
  readonly createFeed: (bed: Testbed) => Promise<ObjectFeed>;
  /** How long the proxy may take to program a change, start included. */
  readonly settleTimeoutMilliseconds?: number;
}

/** The part of a scenario that went wrong. `step` 0 is before the steps. */
export interface BlockFailure {
  readonly step: number;
  readonly about?: string;
  readonly probes: readonly ProbeFailure[];
  /** Set when the block could not be probed at all. */
  readonly error?: string;
  readonly objects: readonly KubeObject[];
  /** `nft list ruleset` and, where used, the legacy iptables tables of node1, right after the probes. */
  readonly ruleset: string;
  readonly proxyLog: string;
}

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly milliseconds: number;
  readonly failures: readonly BlockFailure[];
}

/** Replays one scenario on a test bed that nothing else uses. The proxy is stopped at the end. */
export async function replayScenario(scenario: Scenario, options: ReplayOptions): Promise<ScenarioResult> {
  const begin = performance.now();
  await cleanNode(options.bed);
  const feed = await options.createFeed(options.bed);
  const replay = new Replay(scenario, options, feed);
  try {
    await replay.run();
  } finally {
    await options.proxy.stop().finally(() => feed.close());
  }
  return { scenario, milliseconds: performance.now() - begin, failures: replay.failures };
}

class Replay {
  readonly failures: BlockFailure[] = [];
  readonly #scenario: Scenario;
  readonly #options: ReplayOptions;
  readonly #feed: ObjectFeed;
  readonly #world: ObjectWorld;
  readonly #context: CompareContext;
  #running = false;

  constructor(scenario: Scenario, options: ReplayOptions, feed: ObjectFeed) {
    this.#scenario = scenario;
    this.#options = options;
    this.#feed = feed;
    this.#world = new ObjectWorld(feed);
    const node = options.bed.topology.nodes['node1'];
    this.#context = { nodeAddresses: new Set(node?.allIPs), stickyServers: new Map() };
  }

  async run(): Promise<void> {
    const { topology } = this.#options.bed;
    const usable = await this.#block(0, this.#scenario, async () => {
      await this.#world.apply([...standingObjects(topology, this.#scenario), ...this.#scenario.objects]);
      await this.#world.apply([...markerSlices(topology), markerService(0)]);
      await this.#startProxy();
    });
    if (!usable) return;
    for (const [index, step] of (this.#scenario.steps ?? []).entries()) {
      const number = index + 1;
      if (!(await this.#block(number, step, () => this.#change(step, number)))) return;
    }
  }

  async #change(step: ScenarioStep, number: number): Promise<void> {
    if (step.proxy === 'stop' || step.proxy === 'restart') await this.#stopProxy();
    await this.#world.apply(step.apply ?? []);
    for (const { patch, ...reference } of step.patch ?? []) await this.#world.patch(reference, patch);
    for (const reference of step.delete ?? []) await this.#world.delete(reference);
    await this.#world.apply([markerService(number)]);
    if (step.proxy === 'start' || step.proxy === 'restart') await this.#startProxy(step.mode === 'other');
  }

  /** Makes a change, waits for it and probes. Returns whether going on makes sense. */
  async #block(
    step: number,
    { about, probes }: Pick<ScenarioStep, 'about' | 'probes'>,
    change: () => Promise<void>,
  ): Promise<boolean> {
    const { bed, proxy, mode, settleTimeoutMilliseconds = patient(20_000) } = this.#options;
    let failed: ProbeFailure[] = [];
    let error: string | undefined;
    try {
      await change();
      if (this.#running) await settle(bed, proxy, step, settleTimeoutMilliseconds);
      else await delay(STOPPED_MILLISECONDS);
      failed = await runProbes(bed, probes, mode, this.#context);
      error = proxy.crash();
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (failed.length > 0 || error !== undefined) {
      this.failures.push({
        step,
        ...(about === undefined ? {} : { about }),
        probes: failed,
        ...(error === undefined ? {} : { error }),
        objects: this.#world.objects(),
        ruleset: await listRules(bed),
        proxyLog: proxy.log(),
      });
    }
    return error === undefined;
  }

  async #startProxy(otherMode = false): Promise<void> {
    const mode = otherMode ? OTHER_MODE[this.#options.mode] : this.#options.mode;
    const { location } = this.#feed;
    const kubeconfig = 'kubeconfig' in location ? location.kubeconfig : undefined;
    const config = proxyConfiguration(mode, this.#scenario.config ?? {}, kubeconfig);
    await this.#options.proxy.start({ mode, config, objects: location });
    this.#running = true;
  }

  async #stopProxy(): Promise<void> {
    await this.#options.proxy.stop();
    this.#running = false;
  }
}

const OTHER_MODE: Readonly<Record<ReplayMode, ReplayMode>> = { nftables: 'iptables', iptables: 'nftables' };

async function listRules(bed: Testbed): Promise<string> {
  const nft = await bed.run('node1', ['nft', 'list', 'ruleset']).catch((error: Error) => error.message);
  const legacy = await bed.agent('node1').readFile('/proc/net/ip_tables_names');
  if (!legacy) return nft;
  const saved = await Promise.all(
    ['iptables-legacy-save', 'ip6tables-legacy-save'].map((program) =>
      bed.run('node1', [program]).catch((error: Error) => error.message),
    ),
  );
  return [nft, ...saved].join('\n');
}
