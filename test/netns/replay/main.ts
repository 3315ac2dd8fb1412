// Replays scenarios from the command line: node test/netns/replay/main.ts --help
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { closeOnSignal } from '../testbed/close-on-signal.ts';
import { exceptionReason, loadExceptions, VARIANTS, type Variant } from './exceptions.ts';
import { type FeedKind, modeOf, ReplayPool } from './replay-pool.ts';
import type { ScenarioResult } from './replay-scenario.ts';
import { fullReport, shortReport } from './report.ts';
import { loadScenarios, type Scenario } from './scenario.ts';

const USAGE = `Replays the recorded scenarios of test/scenarios against bin/fairlead. Needs root.

  --mode MODE       nftables (default), iptables (= iptables-nft), iptables-nft, iptables-legacy
  --only NAMES      comma-separated names; a trailing * matches the rest of a name
  --directory DIR   scenarios of another directory, e.g. test/scenarios-derived
  --feed FEED       files (default) or apiserver
  --parallel N      test beds at the same time (default 2)
  --program PATH    another program with kube-proxy's flags
  --details         print objects, rules and log of each failure
`;

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'nftables' },
    only: { type: 'string' },
    directory: { type: 'string' },
    feed: { type: 'string', default: 'files' },
    parallel: { type: 'string', default: '2' },
    program: { type: 'string' },
    details: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else process.exitCode = await run();

async function run(): Promise<number> {
  const variant = parseVariant(values.mode);
  const directory = values.directory === undefined ? undefined : pathToFileURL(`${values.directory}/`);
  const scenarios = select(loadScenarios(modeOf(variant), directory), values.only);
  const exceptions = values.directory === undefined ? loadExceptions() : [];
  const size = Math.max(1, Math.min(Number(values.parallel), scenarios.length));
  const begin = performance.now();
  const created = ReplayPool.create({
    variant,
    size,
    feed: parseFeed(values.feed),
    ...(values.program === undefined ? {} : { program: values.program }),
  });
  closeOnSignal(async () => {
    await (await created).close();
    return undefined;
  });
  const pool = await created;
  const counts = { passed: 0, failed: 0, excepted: 0 };
  const replayOne = async (scenario: Scenario): Promise<void> => {
    const result = await pool.replay(scenario);
    const reason = exceptionReason(exceptions, scenario.name, variant);
    print(result, reason);
    if (result.failures.length === 0) counts[reason === undefined ? 'passed' : 'failed'] += 1;
    else counts[reason === undefined ? 'failed' : 'excepted'] += 1;
  };
  try {
    const queue = [...scenarios];
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await replayOne(next);
    };
    await Promise.all(Array.from({ length: size }, work));
  } finally {
    await pool.close();
  }
  const seconds = ((performance.now() - begin) / 1000).toFixed(0);
  console.log(
    `\n${variant}: ${counts.passed} passed, ${counts.failed} failed, ${counts.excepted} excepted, ${seconds} s`,
  );
  return counts.failed === 0 ? 0 : 1;
}

function print(result: ScenarioResult, reason: string | undefined): void {
  const passed = result.failures.length === 0;
  const word = passed ? (reason === undefined ? 'pass' : 'FAIL') : reason === undefined ? 'FAIL' : 'known';
  console.log(
    `${word.padEnd(6)}${result.scenario.name.padEnd(42)}${(result.milliseconds / 1000).toFixed(1).padStart(6)} s`,
  );
  if (passed && reason !== undefined) console.log(`  passes, so take it off exceptions.yaml (${reason})`);
  if (!passed && reason !== undefined) console.log(`  ${reason}`);
  if (!passed && reason === undefined) console.log(values.details ? fullReport(result) : shortReport(result));
}

function parseVariant(mode: string): Variant {
  const name = mode === 'iptables' ? 'iptables-nft' : mode;
  const variant = VARIANTS.find((candidate) => candidate === name);
  if (variant === undefined) throw new Error(`--mode ${mode}: not one of ${VARIANTS.join(', ')}`);
  return variant;
}

function parseFeed(feed: string): FeedKind {
  if (feed === 'files' || feed === 'apiserver') return feed;
  throw new Error(`--feed ${feed}: not files or apiserver`);
}

function select(scenarios: readonly Scenario[], only: string | undefined): Scenario[] {
  if (only === undefined) return [...scenarios];
  const patterns = only.split(',').map((name) => name.trim());
  const matches = (scenario: Scenario, pattern: string): boolean =>
    pattern.endsWith('*') ? scenario.name.startsWith(pattern.slice(0, -1)) : scenario.name === pattern;
  for (const pattern of patterns) {
    if (!scenarios.some((scenario) => matches(scenario, pattern)))
      throw new Error(`--only ${pattern}: no such scenario`);
  }
  return scenarios.filter((scenario) => patterns.some((pattern) => matches(scenario, pattern)));
}
