import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../base/logger.ts';
import { ProblemLog } from './problem-log.ts';

test('each problem is logged once, and forgotten with the version of the object that had it', () => {
  const lines: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (_message, values) => lines.push(values) };
  const log = new ProblemLog(logger);
  const problem = {
    kind: 'Service',
    namespace: 'default',
    name: 'web',
    field: 'spec.externalIPs',
    reason: 'bad',
  } as const;
  log.report(problem);
  log.report({ ...problem });
  log.report({ ...problem, name: 'other' });
  expect(lines).toEqual([
    { object: 'default/web', field: 'spec.externalIPs', reason: 'bad' },
    { object: 'default/other', field: 'spec.externalIPs', reason: 'bad' },
  ]);
  expect([...log.objects()].map((object) => object.name)).toEqual(['web', 'other']);
  log.forget('Service', 'default', 'web');
  expect([...log.objects()].map((object) => object.name)).toEqual(['other']);
  log.report(problem);
  expect(lines).toHaveLength(3);
});
