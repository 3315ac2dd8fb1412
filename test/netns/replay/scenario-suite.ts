import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exceptionReason, loadExceptions, type Variant } from './exceptions.ts';
import { modeOf, ReplayPool } from './replay-pool.ts';
import { fullReport } from './report.ts';
import { loadScenarios } from './scenario.ts';

/** Scenarios at the same time; most of their time they wait. */
const TEST_BEDS = 2;
/** Includes waiting for a free test bed. */
const TIMEOUT_MILLISECONDS = 300_000;

/** Defines one test for each scenario recorded for the mode of a variant. */
export function defineScenarioSuite(variant: Variant): void {
  describe.concurrent(`scenarios, ${variant}`, () => {
    let pool: ReplayPool;
    beforeAll(async () => {
      pool = await ReplayPool.create({ variant, size: TEST_BEDS });
    });
    afterAll(() => pool?.close());
    const exceptions = loadExceptions();

    for (const scenario of loadScenarios(modeOf(variant))) {
      const reason = exceptionReason(exceptions, scenario.name, variant);
      const title = reason === undefined ? scenario.name : `${scenario.name} (known to fail: ${reason})`;
      test(title, { timeout: TIMEOUT_MILLISECONDS }, async () => {
        const result = await pool.replay(scenario);
        if (reason === undefined) expect(result.failures, fullReport(result)).toEqual([]);
        else
          expect(result.failures, 'passes now: take it off test/scenarios/exceptions.yaml').not.toEqual([]);
      });
    }
  });
}
