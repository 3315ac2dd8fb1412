import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../base/logger.ts';
import { TriggerTimeTracker } from './network-programming-latency.ts';

const START = Date.UTC(2026, 4, 1, 10);
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const ms = (seconds: number) => START + seconds * 1000;

type Event = readonly [
  service: string,
  seconds: number | string,
  removed?: 'removed' | undefined,
  previous?: number,
];

const vectors: readonly [name: string, events: readonly Event[], expected: Record<string, number[]>][] = [
  ['one slice added', [['svc', 1]], { svc: [ms(1)] }],
  [
    'added and updated',
    [
      ['svc', 1],
      ['svc', 2],
    ],
    { svc: [ms(1), ms(2)] },
  ],
  [
    'two services',
    [
      ['ep1', 1],
      ['ep2', 2],
      ['ep1', 3],
    ],
    { ep1: [ms(1), ms(3)], ep2: [ms(2)] },
  ],
  ['no annotation', [['svc', '']], {}],
  ['older than the tracker', [['svc', -1]], {}],
  ['exactly as old as the tracker', [['svc', 0]], {}],
  [
    'added and deleted',
    [
      ['svc', 1],
      ['svc', 1, 'removed'],
    ],
    {},
  ],
  [
    'added, deleted, added',
    [
      ['svc', 1],
      ['svc', 1, 'removed'],
      ['svc', 2],
    ],
    { svc: [ms(2)] },
  ],
  ['unknown slice deleted', [['svc', 1, 'removed']], {}],
  [
    'a deletion keeps other services',
    [
      ['a', 1],
      ['b', 2],
      ['b', 2, 'removed'],
    ],
    { a: [ms(1)] },
  ],
  [
    'malformed',
    [
      ['svc', 'soon'],
      ['svc', 1],
    ],
    { svc: [ms(1)] },
  ],
  ['annotation left as it was', [['svc', 1, undefined, 1]], {}],
];

test.each(vectors)('%s', (_name, events, expected) => {
  const tracker = new TriggerTimeTracker({ startedAt: START, logger: silentLogger });
  for (const [service, time, removed, previous] of events) {
    const annotation = typeof time === 'string' ? time : at(time);
    const before = previous === undefined ? '' : at(previous);
    tracker.noteChange(service, annotation, removed === 'removed', before);
  }
  expect(Object.fromEntries(tracker.take())).toEqual(expected);
  expect(tracker.take().size).toBe(0);
});

test('an annotation that cannot be read is logged with the Service', () => {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (_message, values) => warnings.push(values) };
  new TriggerTimeTracker({ startedAt: START, logger }).noteChange('ns/a', '2026-05-01', false);
  expect(warnings).toEqual([{ service: 'ns/a', annotation: '2026-05-01' }]);
});

test('nanoseconds are kept to well below a millisecond', () => {
  const tracker = new TriggerTimeTracker({ startedAt: START, logger: silentLogger });
  tracker.noteChange('svc', '2026-05-01T10:00:01.000123456Z', false);
  expect(tracker.take().get('svc')![0]! - ms(1)).toBeCloseTo(0.123, 2);
});

test('a Service that never gets synced does not grow without end', () => {
  const tracker = new TriggerTimeTracker({ startedAt: START, logger: silentLogger });
  for (let i = 1; i <= 5000; i++) tracker.noteChange('svc', at(i), false);
  const times = tracker.take().get('svc')!;
  expect(times.length).toBe(1000);
  expect(times[0]).toBe(ms(1));
});
