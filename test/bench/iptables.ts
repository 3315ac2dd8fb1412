/**
 * Measures the iptables mode on both back-ends: full syncs over empty and over equal tables, and partial syncs of one
 * change. Beside each time stands that of the same program runs fed from ready files; the difference is our own cost.
 * Needs root; works in network namespaces of its own.
 *
 *   node test/bench/iptables.ts [services] [endpoints] [nft|legacy]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** Runs programs in a namespace and keeps what they were fed, to run them again later. */
class Recorder {
  readonly #prefix: readonly string[];
  readonly #directory = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  #invocations: Invocation[] = [];
  #files = 0;

  constructor(namespace: string) {
    this.#prefix = ['ip', 'netns', 'exec', namespace];
  }

  get run(): RunProgram {
    const run = processRunner(this.#prefix);
    return async (program, args, options) => {
      const pieces: string[] = [];
      function* kept(): Generator<string> {
        for (const text of options.input ?? []) {
          pieces.push(text);
          yield text;
        }
      }
      const result = await run(program, args, { ...options, input: kept() });
      const file = join(this.#directory, `${this.#files++}.txt`);
      writeFileSync(file, pieces.join(''));
      const command = [...this.#prefix, program, ...args];
      this.#invocations.push({ command, file, firstLines: options.onLine !== undefined });
      return result;
    };
  }

  take(): Invocation[] {
    const taken = this.#invocations;
    this.#invocations = [];
    return taken;
  }

  close(): void {
    rmSync(this.#directory, { recursive: true });
  }
}

/** Runs recorded programs again with their input in ready files; milliseconds. */
async function replay(invocations: readonly Invocation[]): Promise<number> {
  let total = 0;
  for (const { command, file, firstLines } of invocations) {
    const input = openSync(file, 'r');
    const [program, ...args] = command;
    const started = performance.now();
    const child = spawn(program!, args, { stdio: [input, firstLines ? 'pipe' : 'ignore', 'ignore'] });
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      if (text.includes('\n-A')) child.kill();
    });
    const [status, signal] = await once(child, 'close');
    total += performance.now() - started;
    closeSync(input);
    if (status !== 0 && signal === null) throw new Error(`${command.join(' ')} < ${file}: status ${status}`);
  }
  return total;
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

function printRow(backend: string, what: string, ours: number, ready: number): void {
  const difference = ours - ready;
  const share = `${((100 * difference) / ready).toFixed(0)} %`;
  console.log(
    `${backend.padEnd(8)}${what.padEnd(34)}${ours.toFixed(0).padStart(8)} ms${ready.toFixed(0).padStart(8)} ms${difference.toFixed(0).padStart(8)} ms${share.padStart(8)}`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

async function measure(backend: 'nft' | 'legacy'): Promise<void> {
  const namespace = `flh-bench-${backend}`;
  execFileSync('ip', ['netns', 'add', namespace]);
  const recorder = new Recorder(namespace);
  try {
    const iptables = await openIptables({ family: 'IPv4', backend, run: recorder.run });
    const proxier = new IptablesProxier(
      { conntrackTcpBeLiberal: false, monitorIntervalMs: 3_600_000 },
      { iptables, clock: systemClock, logger: silentLogger },
    );
    const cluster = new Cluster();
    const plan = cluster.plan();
    const timed = async (action: () => Promise<unknown>) => {
      recorder.take();
      const started = performance.now();
      await action();
      return performance.now() - started;
    };
    const first = await timed(() => proxier.sync(plan, undefined));
    console.log(
      `${backend.padEnd(8)}${'full, over empty tables'.padEnd(34)}${first.toFixed(0).padStart(8)} ms`,
    );
    // The canary chains are put up in the background.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const cpu = process.cpuUsage();
    const full = await timed(() => proxier.sync(plan, undefined));
    const { user, system } = process.cpuUsage(cpu);
    printRow(backend, 'full, over equal tables', full, await replay(recorder.take()));
    console.log(`${backend.padEnd(8)}  own processor time ${((user + system) / 1000).toFixed(0)} ms`);

    for (const [what, change] of [
      ['partial, one endpoint moved', (on: boolean) => cluster.moveEndpoint(on)],
      ['partial, one Service gone or back', (on: boolean) => cluster.removeService(on)],
    ] as const) {
      const ours: number[] = [];
      const recorded: Invocation[][] = [];
      for (let round = 0; round < 2 * PARTIAL_ROUNDS; round++) {
        const { plan: changed, diff } = change(round % 2 === 0);
        ours.push(await timed(() => proxier.sync(changed, diff)));
        recorded.push(recorder.take());
      }
      const ready: number[] = [];
      for (const invocations of recorded) ready.push(await replay(invocations));
      printRow(backend, what, median(ours), median(ready));
    }
    proxier.close();
  } finally {
    recorder.close();
    execFileSync('ip', ['netns', 'delete', namespace]);
  }
}

console.log(`${SERVICES} Services with ${ENDPOINTS} endpoints each`);
console.log(
  `${' '.repeat(42)}${'ours'.padStart(11)}${'ready file'.padStart(11)}${'difference'.padStart(11)}`,
);
for (const backend of BACKENDS) await measure(backend);
process.stdout.write(
  `peak memory of this process ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`,
);
