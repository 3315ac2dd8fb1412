import { expect, test } from 'vitest';
import type { IpFamily } from '../base/ip.ts';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { Repairs } from './repairs.ts';

function setup() {
  const clock = new FakeClock();
  const repaired: [IpFamily, string, number][] = [];
  const repairs = new Repairs({ clock, logger: silentLogger }, (family, what) =>
    repaired.push([family, what, clock.monotonic()]),
  );
  return { clock, repairs, repaired };
}

test('single edits are repaired at once, each family by itself', () => {
  const { repairs, repaired } = setup();
  repairs.note('IPv4', 'a');
  repairs.note('IPv6', 'b');
  repairs.note('IPv4', 'c');
  expect(repaired.map(([family, what]) => `${family} ${what}`)).toEqual(['IPv4 a', 'IPv6 b', 'IPv4 c']);
});

test('edits without end are repaired every 15 seconds, and none is forgotten', async () => {
  const { clock, repairs, repaired } = setup();
  for (let second = 0; second < 60; second++) {
    for (let edit = 0; edit < 5; edit++) repairs.note('IPv4', `edit ${second}.${edit}`);
    await clock.advance(1000);
  }
  expect(repaired.length).toBeGreaterThanOrEqual(13);
  expect(repaired.length).toBeLessThanOrEqual(14);
  expect(repaired.slice(11).map(([, , at], index) => at - repaired[index + 10]![2])).toEqual(
    repaired.slice(11).map(() => expect.closeTo(15_000, -3)),
  );
  await clock.advance(15_000);
  const after = repaired.length;
  await clock.advance(600_000);
  expect(repaired).toHaveLength(after);
  repairs.note('IPv4', 'much later');
  expect(repaired.at(-1)?.[1]).toBe('much later');
});

test('closing forgets what waits', async () => {
  const { clock, repairs, repaired } = setup();
  for (let edit = 0; edit < 20; edit++) repairs.note('IPv4', 'x');
  repairs.close();
  await clock.advance(60_000);
  expect(repaired).toHaveLength(10);
  expect(clock.pending).toBe(0);
});
