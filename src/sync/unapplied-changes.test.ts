import { expect, test } from 'vitest';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { UnappliedChanges } from './unapplied-changes.ts';

function setup() {
  const clock = new FakeClock();
  const changes = new UnappliedChanges(clock);
  const succeed = () => {
    const observed: [number, number][] = [];
    changes.syncSucceeded((seconds, count) => observed.push([seconds, count]));
    return observed;
  };
  return { clock, changes, succeed };
}

test('the age is that of the oldest change until its sync succeeds', async () => {
  const { clock, changes, succeed } = setup();
  expect(changes.oldestAge()).toBe(0);
  changes.note();
  await clock.advance(2000);
  changes.note();
  expect(changes.oldestAge()).toBe(2);
  changes.syncStarted();
  await clock.advance(1000);
  changes.note();
  expect(changes.oldestAge()).toBe(3);
  await clock.advance(500);
  expect(succeed()).toEqual([
    [3.5, 1],
    [1.5, 1],
  ]);
  expect(changes.oldestAge()).toBe(0.5);
});

test('a failed sync keeps its changes for the next one', async () => {
  const { clock, changes, succeed } = setup();
  changes.note();
  changes.syncStarted();
  await clock.advance(1000);
  changes.note();
  changes.syncStarted();
  await clock.advance(1000);
  expect(changes.oldestAge()).toBe(2);
  expect(succeed()).toEqual([
    [2, 1],
    [1, 1],
  ]);
  expect(succeed()).toEqual([]);
});

test('a burst is one entry', async () => {
  const { clock, changes, succeed } = setup();
  for (let i = 0; i < 1000; i++) changes.note();
  await clock.advance(10);
  changes.note(5);
  changes.syncStarted();
  expect(succeed()).toEqual([
    [0.01, 1000],
    [0, 5],
  ]);
});

test('memory is bounded when syncs fail for a day, and no change gets lost', async () => {
  const { clock, changes, succeed } = setup();
  for (let i = 0; i < 10_000; i++) {
    changes.note();
    if (i % 1000 === 999) changes.syncStarted();
    await clock.advance(10);
  }
  changes.syncStarted();
  const observed = succeed();
  expect(observed.length).toBe(4096);
  expect(observed.reduce((sum, [, count]) => sum + count, 0)).toBe(10_000);
  expect(observed[0]![0]).toBe(100);
});
