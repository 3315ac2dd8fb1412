import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../patience.ts';
import { exceptionReason, loadExceptions, type Variant } from './exceptions.ts';
import { type FeedKind, modeOf, ReplayPool } from './replay-pool.ts';
import { fullReport } from './report.ts';
import { loadScenario, loadScenarios, SCENARIO_DIRECTORY } from './scenario.ts';

/** Scenarios at the same time; most of their time they wait. */
const TEST_BEDS = 2;
/** Includes waiting for a free test bed. */
const TIMEOUT_MILLISECONDS = patient(300_000);

export interface SuiteOptions {
  readonly feed?: FeedKind;
  /** Names of the scenarios to replay; default all. */
  readonly only?: readonly string[];
  /** Where they are; default the recorded ones. */
  readonly directory?: URL;
}

/** Defines one test for each scenario recorded for the mode of a variant. */
export function defineScenarioSuite(
  variant: Variant,
  { feed = 'files', only, directory = SCENARIO_DIRECTORY }: SuiteOptions = {},
): void {
  describe.concurrent(`scenarios, ${variant}, objects from ${feed}`, () => {
    let pool: ReplayPool;
    beforeAll(async () => {
      pool = await ReplayPool.create({ variant, size: TEST_BEDS, feed });
    });
    afterAll(() => pool?.close());
    const exceptions = loadExceptions();

    const scenarios =
      only?.map((name) => loadScenario(name, directory)) ?? loadScenarios(modeOf(variant), directory);
    for (const scenario of scenarios) {
      const reason = exceptionReason(exceptions, scenario.name, variant);
      const title = reason === undefined ? scenario.name : `${scenario.name} (known to fail: ${reason})`;
      test(title, { timeout: TIMEOUT_MILLISECONDS }, async () => {
        const result = await pool.replay(scenario);
        const failed = result.failures.length > 0;
        if (failed && reason === undefined) expect.fail(fullReport(result));
        if (!failed && reason !== undefined)
          expect.fail('passes now: take it off test/scenarios/exceptions.yaml');
      });
    }
  });
}
