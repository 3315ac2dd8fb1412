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
  /** An edit after the sync that an earlier repair asked for. */
  const edit = (family: IpFamily, what: string) => {
    repairs.begun(family);
    repairs.note(family, what);
  };
  return { clock, repairs, repaired, edit };
}

test('single edits are repaired at once, each family by itself', () => {
  const { edit, repaired } = setup();
  edit('IPv4', 'a');
  edit('IPv6', 'b');
  edit('IPv4', 'c');
  expect(repaired.map(([family, what]) => `${family} ${what}`)).toEqual(['IPv4 a', 'IPv6 b', 'IPv4 c']);
});

test('whatever is changed before the rules are written is one repair', () => {
  const { repairs, repaired } = setup();
  for (let edit = 0; edit < 30; edit++) repairs.note('IPv4', `chain ${edit}`);
  repairs.note('IPv6', 'b');
  expect(repaired.map(([family, what]) => `${family} ${what}`)).toEqual(['IPv4 chain 0', 'IPv6 b']);
  repairs.begun('IPv4');
  repairs.note('IPv4', 'during the write');
  expect(repaired.at(-1)?.[1]).toBe('during the write');
});

test('edits without end are repaired every 15 seconds, and none is forgotten', async () => {
  const { clock, edit, repaired } = setup();
  for (let second = 0; second < 60; second++) {
    for (let number = 0; number < 5; number++) edit('IPv4', `edit ${second}.${number}`);
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
  edit('IPv4', 'much later');
  expect(repaired.at(-1)?.[1]).toBe('much later');
});

test('closing forgets what waits', async () => {
  const { clock, repairs, repaired, edit } = setup();
  for (let number = 0; number < 20; number++) edit('IPv4', 'x');
  repairs.close();
  await clock.advance(60_000);
  expect(repaired).toHaveLength(10);
  expect(clock.pending).toBe(0);
});
