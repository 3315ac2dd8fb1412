import { expect, test } from 'vitest';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { RateLimiter } from './rate-limiter.ts';

test('a burst goes at once, then so many a second, in order', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ qps: 5, burst: 10 }, clock);
  const waits = Array.from({ length: 13 }, () => limiter.reserve());
  expect(waits).toEqual([...Array(10).fill(0), 200, 400, 600]);
  await clock.advance(700);
  // 3.5 tokens have come, 3 were taken in advance.
  expect(limiter.reserve()).toBe(100);
  await clock.advance(60_000);
  expect(Array.from({ length: 11 }, () => limiter.reserve())).toEqual([...Array(10).fill(0), 200]);
});

test('a negative rate is no limit, a burst of 0 still lets requests through', () => {
  const clock = new FakeClock();
  const unlimited = new RateLimiter({ qps: -1, burst: 1 }, clock);
  for (let i = 0; i < 100; i++) expect(unlimited.reserve()).toBe(0);
  const strict = new RateLimiter({ qps: 2, burst: 0 }, clock);
  expect([strict.reserve(), strict.reserve()]).toEqual([0, 500]);
});
