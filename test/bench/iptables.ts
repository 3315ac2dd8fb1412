/**
 * Measures the iptables mode on both back-ends: full syncs over empty and over equal tables, and partial syncs of one
 * change. Beside our own processor time stands that of the programs, run again with the same input from ready files:
 * on a busy machine elapsed time says little, and the two run side by side.
 * Needs root; works in network namespaces of its own.
 *
 *   node test/bench/iptables.ts [services] [endpoints] [nft|legacy]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { IptablesProxier } from '../../src/dataplane/iptables/iptables-proxier.ts';
import { openIptables } from '../../src/kernel/iptables/iptables.ts';
import { processRunner, type RunProgram } from '../../src/kernel/iptables/run-program.ts';
import { EndpointSliceCache } from '../../src/model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../../src/model/service-change-tracker.ts';
import { Planner } from '../../src/plan/planner.ts';
import type { PlanDiff, ProxyPlan } from '../../src/plan/proxy-plan.ts';
import { settings } from '../../src/plan/testing/settings.ts';
import { syntheticService, syntheticSlice } from './synthetic-cluster.ts';

const SERVICES = Number(process.argv[2] ?? 5000);
const ENDPOINTS = Number(process.argv[3] ?? 10);
const BACKENDS = (['nft', 'legacy'] as const).filter((name) => (process.argv[4] ?? name) === name);
const PARTIAL_ROUNDS = 5;

interface Invocation {
  readonly command: readonly string[];
  readonly file: string;
  /** The program was ended early by the reader of its output. */
  readonly firstLines: boolean;
}

/** Runs programs in a namespace and, when told to, keeps what they were fed, to run them again later. */
class Recorder {
  readonly run: RunProgram;
  #invocations: Invocation[] = [];
  #files = 0;
  recording = false;

  constructor(namespace: string, directory: string) {
    const prefix = ['ip', 'netns', 'exec', namespace];
    const run = processRunner(prefix);
    this.run = async (program, args, options) => {
      if (!this.recording) return run(program, args, options);
      const file = join(directory, `${this.#files++}.txt`);
      const output = openSync(file, 'w');
      function* kept(): Generator<string> {
        for (const text of options.input ?? []) {
          writeSync(output, text);
          yield text;
        }
      }
      const result = await run(program, args, { ...options, input: kept() });
      closeSync(output);
      this.#invocations.push({
        command: [...prefix, program, ...args],
        file,
        firstLines: options.onLine !== undefined,
      });
      return result;
    };
  }

  take(): Invocation[] {
    const taken = this.#invocations;
    this.#invocations = [];
    return taken;
  }
}

interface Cost {
  readonly elapsed: number;
  /** Processor time, milliseconds. */
  readonly processor: number;
}

/** Runs recorded programs again with their input in ready files. */
async function replay(invocations: readonly Invocation[]): Promise<Cost> {
  let elapsed = 0;
  let processor = 0;
  for (const { command, file, firstLines } of invocations) {
    // As the proxier does, who looks at chains reads no further than to the first rule.
    const reader = firstLines ? "| sed '/^-A/q'" : '';
    const script = `TIMEFORMAT='%R %U %S'; time "$@" < ${file} ${reader} > /dev/null 2>&1`;
    const child = spawn('bash', ['-c', script, 'replay', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const [status] = await once(child, 'close');
    if (status !== 0) throw new Error(`${command.join(' ')} < ${file}: status ${status}`);
    const [real, user, system] = output.trim().split(' ').map(Number);
    elapsed += real! * 1000;
    processor += (user! + system!) * 1000;
  }
  return { elapsed, processor };
}

async function costOf(action: () => Promise<unknown>): Promise<Cost> {
  const started = performance.now();
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return { elapsed: performance.now() - started, processor: (user + system) / 1000 };
}

class Cluster {
  readonly #services = new ServiceChangeTracker('IPv4', () => {});
  readonly #slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node-1', report: () => {} });
  readonly #settings = settings({
    nodeName: 'node-1',
    localTraffic: { kind: 'cidr', cidr: '10.128.0.0/24' },
  });
  readonly #planner = new Planner(this.#settings, () => {});
  #version = 0;

  constructor() {
    for (let i = 0; i < SERVICES; i++) {
      this.#services.update(syntheticService(i));
      this.#slices.update(syntheticSlice(i, ENDPOINTS, ++this.#version));
    }
  }

  plan(): ProxyPlan {
    this.#take();
    return this.#planner.replan(this.#input(), this.#settings);
  }

  /** Gives one endpoint of a Service in the middle another address, or its old one. */
  moveEndpoint(moved: boolean): { plan: ProxyPlan; diff: PlanDiff } {
    this.#slices.update(syntheticSlice(SERVICES >> 1, ENDPOINTS, ++this.#version, moved ? 20 : 0));
    return this.#update();
  }

  /** Takes a Service with its endpoints away, or brings it back. */
  removeService(removed: boolean): { plan: ProxyPlan; diff: PlanDiff } {
    const service = syntheticService(SERVICES >> 1);
    if (removed) this.#services.delete(service.namespace, service.name);
    else this.#services.update(service);
    return this.#update();
  }

  #update(): { plan: ProxyPlan; diff: PlanDiff } {
    const diff = this.#planner.update(this.#input(), this.#take());
    return { plan: this.#planner.plan, diff };
  }

  #input() {
    return {
      services: this.#services.services,
      endpoints: (service: string, portName: string, protocol: string) =>
        this.#slices.endpoints(service, portName, protocol),
    };
  }

  #take(): Set<string> {
    return new Set([...this.#services.checkout().keys(), ...this.#slices.checkout().keys()]);
  }
}

function printRow(backend: string, what: string, ours: Cost, programs: Cost): void {
  const columns = [ours.elapsed, programs.elapsed, ours.processor, programs.processor];
  const share = `${((100 * ours.processor) / programs.processor).toFixed(0)} %`;
  const numbers = columns.map((value) => value.toFixed(0).padStart(11)).join('');
  console.log(`${backend.padEnd(8)}${what.padEnd(36)}${numbers}${share.padStart(9)}`);
}

function median(costs: readonly Cost[]): Cost {
  const middle = (key: keyof Cost) =>
    costs.map((cost) => cost[key]).toSorted((a, b) => a - b)[costs.length >> 1]!;
  return { elapsed: middle('elapsed'), processor: middle('processor') };
}

async function measure(backend: 'nft' | 'legacy', directory: string): Promise<void> {
  const namespace = `flh-bench-${backend}`;
  execFileSync('ip', ['netns', 'add', namespace]);
  try {
    const recorder = new Recorder(namespace, directory);
    const iptables = await openIptables({ family: 'IPv4', backend, run: recorder.run });
    const proxier = new IptablesProxier(
      { conntrackTcpBeLiberal: () => false, monitorIntervalMs: 3_600_000 },
      { iptables, clock: systemClock, logger: silentLogger },
    );
    const cluster = new Cluster();
    const plan = cluster.plan();
    /** Once for the time, once more to record. */
    const twice = async (what: string, action: () => Promise<unknown>) => {
      const ours = await costOf(action);
      recorder.recording = true;
      await action();
      recorder.recording = false;
      printRow(backend, what, ours, await replay(recorder.take()));
    };
    const first = await costOf(() => proxier.sync(plan, undefined));
    console.log(
      `${backend.padEnd(8)}${'full, over empty tables'.padEnd(36)}${first.elapsed.toFixed(0).padStart(11)}`,
    );
    // The canary chains are put up in the background, one program after the other.
    while (!(await iptables.hasChain('filter', 'KUBE-PROXY-CANARY'))) await setTimeout(100);
    await twice('full, over equal tables', () => proxier.sync(plan, undefined));

    for (const [what, change] of [
      ['partial, one endpoint moved', (on: boolean) => cluster.moveEndpoint(on)],
      ['partial, one Service gone or back', (on: boolean) => cluster.removeService(on)],
    ] as const) {
      const ours: Cost[] = [];
      const recorded: Invocation[][] = [];
      for (let round = 0; round < 4 * PARTIAL_ROUNDS; round++) {
        const { plan: changed, diff } = change(round % 2 === 0);
        recorder.recording = round >= 2 * PARTIAL_ROUNDS;
        const cost = await costOf(() => proxier.sync(changed, diff));
        if (recorder.recording) recorded.push(recorder.take());
        else ours.push(cost);
        recorder.recording = false;
      }
      const programs: Cost[] = [];
      for (const invocations of recorded) programs.push(await replay(invocations));
      printRow(backend, what, median(ours), median(programs));
    }
    proxier.close();
  } finally {
    execFileSync('ip', ['netns', 'delete', namespace]);
  }
}

const directory = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
try {
  console.log(`${SERVICES} Services with ${ENDPOINTS} endpoints each; milliseconds`);
  const titles = ['sync', 'programs', 'sync, own', 'programs,'];
  const units = ['elapsed', 'elapsed', 'processor', 'processor'];
  for (const row of [titles, units])
    console.log(`${' '.repeat(44)}${row.map((title) => title.padStart(11)).join('')}`);
  for (const backend of BACKENDS) await measure(backend, directory);
  console.log(`peak memory of this process ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);
} finally {
  rmSync(directory, { recursive: true });
}
