import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { BoundedFrequencyRunner, type RunnerIntervals } from './bounded-frequency-runner.ts';

const UPSTREAM: RunnerIntervals = { min: 1000, retry: 5000, max: 10_000 };
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** A runner whose runs are noted by time; `outcomes` says what each run does, `duration` how long it takes. */
function setup(
  intervals: RunnerIntervals = UPSTREAM,
  options: { duration?: number; started?: boolean } = {},
) {
  const clock = new FakeClock();
  const runs: number[] = [];
  const outcomes: ('fail' | 'ok')[] = [];
  const stop = new AbortController();
  stops.push(stop);
  let active = 0;
  const runner = new BoundedFrequencyRunner(
    {
      name: 'test',
      intervals,
      run: async () => {
        expect(active++).toBe(0);
        runs.push(clock.monotonic());
        const { promise, resolve } = Promise.withResolvers<void>();
        if (options.duration === undefined) resolve();
        else clock.schedule(options.duration, resolve);
        await promise;
        active--;
        if (outcomes.shift() === 'fail') throw new Error('wanted');
      },
    },
    { clock, logger: silentLogger },
  );
  const stopped = options.started === false ? Promise.resolve() : runner.start(stop.signal);
  return { clock, runs, outcomes, runner, stop, stopped };
}

test('a request at the start is served at once', async () => {
  const { clock, runs, runner } = setup();
  runner.run();
  await clock.advance(0);
  expect(runs).toEqual([0]);
});

test('without any request the first run comes after the max interval', async () => {
  const { clock, runs } = setup();
  await clock.advance(9999);
  expect(runs).toEqual([]);
  await clock.advance(1);
  expect(runs).toEqual([10_000]);
});

test('requests within the min interval are merged into one run at its end', async () => {
  const { clock, runs, runner } = setup();
  runner.run();
  await clock.advance(500);
  runner.run();
  await clock.advance(499);
  runner.run();
  expect(runs).toEqual([0]);
  await clock.advance(1);
  expect(runs).toEqual([0, 1000]);
  await clock.advance(9999);
  expect(runs).toEqual([0, 1000]);
  await clock.advance(1);
  expect(runs).toEqual([0, 1000, 11_000]);
});

test('a burst in one turn is one run', async () => {
  const { clock, runs, runner } = setup({ min: 0, retry: 1000, max: 10_000 });
  for (let i = 0; i < 100; i++) runner.run();
  await clock.advance(5000);
  expect(runs).toEqual([0]);
});

test('nothing asked for: again after the max interval', async () => {
  const { clock, runs, runner } = setup();
  runner.run();
  await clock.advance(30_000);
  expect(runs).toEqual([0, 10_000, 20_000, 30_000]);
});

test('a failed run is retried after the retry interval', async () => {
  const { clock, runs, outcomes, runner } = setup();
  outcomes.push('fail', 'fail', 'ok');
  runner.run();
  await clock.advance(19_999);
  expect(runs).toEqual([0, 5000, 10_000]);
  await clock.advance(1);
  expect(runs).toEqual([0, 5000, 10_000, 20_000]);
});

test('a success in between cancels the retry', async () => {
  const { clock, runs, outcomes, runner } = setup();
  outcomes.push('fail');
  runner.run();
  await clock.advance(2000);
  runner.run();
  await clock.advance(9999);
  expect(runs).toEqual([0, 2000]);
  await clock.advance(1);
  expect(runs).toEqual([0, 2000, 12_000]);
});

test('a request soon after a failure waits for the min interval', async () => {
  const { clock, runs, outcomes, runner } = setup();
  outcomes.push('fail');
  runner.run();
  await clock.advance(100);
  runner.run();
  await clock.advance(10_900);
  expect(runs).toEqual([0, 1000, 11_000]);
});

test('a retry interval below the min interval is stretched to it', async () => {
  const { clock, runs, outcomes, runner } = setup({ min: 5000, retry: 1000, max: 10_000 });
  outcomes.push('fail');
  runner.run();
  await clock.advance(4999);
  expect(runs).toEqual([0]);
  await clock.advance(1);
  expect(runs).toEqual([0, 5000]);
});

test('a retry interval above the max interval is cut to it', async () => {
  const { clock, runs, outcomes, runner } = setup({ min: 0, retry: 60_000, max: 10_000 });
  outcomes.push('fail');
  runner.run();
  await clock.advance(10_000);
  expect(runs).toEqual([0, 10_000]);
});

test('intervals count from the end of a run', async () => {
  const { clock, runs, runner } = setup(UPSTREAM, { duration: 3000 });
  runner.run();
  await clock.advance(1000);
  runner.run();
  await clock.advance(2999);
  expect(runs).toEqual([0]);
  await clock.advance(1);
  expect(runs).toEqual([0, 4000]);
  await clock.advance(3000 + 9999);
  expect(runs).toEqual([0, 4000]);
  await clock.advance(1);
  expect(runs).toEqual([0, 4000, 17_000]);
});

test('a request before the start is remembered', async () => {
  const { clock, runs, runner, stop } = setup(UPSTREAM, { started: false });
  runner.run();
  await clock.advance(100);
  expect(runs).toEqual([]);
  void runner.start(stop.signal);
  await clock.advance(0);
  expect(runs).toEqual([100]);
});

test('stopping ends the loop after the run in progress and leaves no timer', async () => {
  const { clock, runs, runner, stop, stopped } = setup(UPSTREAM, { duration: 1000 });
  let ended = false;
  void stopped.then(() => {
    ended = true;
  });
  runner.run();
  await clock.advance(500);
  stop.abort();
  await clock.advance(499);
  expect(ended).toBe(false);
  await clock.advance(1);
  expect(ended).toBe(true);
  runner.run();
  await clock.advance(60_000);
  expect(runs).toEqual([0]);
  expect(clock.pending).toBe(0);
});

test('a signal that is aborted already', async () => {
  const { runner, clock, runs, stop } = setup(UPSTREAM, { started: false });
  stop.abort();
  runner.run();
  await runner.start(stop.signal);
  await clock.advance(20_000);
  expect(runs).toEqual([]);
});

test('a delay longer than Node can hold is cut into several', async () => {
  const year = 365 * 24 * 3600 * 1000;
  const { clock, runs, runner } = setup({ min: 0, retry: 0, max: year });
  runner.run();
  await clock.advance(year - 1);
  expect(runs).toEqual([0]);
  await clock.advance(1);
  expect(runs).toEqual([0, year]);
});

test.each([
  { min: -1, retry: 0, max: 1 },
  { min: 2, retry: 0, max: 1 },
  { min: 0, retry: Number.NaN, max: 1 },
])('refuses intervals that cannot be kept: %j', (intervals) => {
  expect(() => setup(intervals, { started: false })).toThrow(RangeError);
});
