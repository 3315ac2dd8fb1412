import { describe, expect, test } from 'vitest';
import type { RequestOutcome } from '../../test/netns/testbed/agent-protocol.ts';
import type { Check, CheckExpectation } from './checks.ts';
import { judge } from './run-check.ts';
import { cells, columnWidths, paint, renderTable } from './table.ts';

function check(expectation: CheckExpectation): Check {
  return { from: 'client', service: 'api', to: '10.96.0.20:80', expect: expectation };
}

const API_1 = '10.244.1.3:8080';
const API_2 = '10.244.2.4:8080';

function answer(server: string, client = '198.51.100.10'): RequestOutcome {
  return { server, client: `${client}:40000`, local: '198.51.100.10' };
}

describe('judge', () => {
  const both = { pods: ['api-1', 'api-2'], seen: ['client'], why: '' };
  test.each<[string, CheckExpectation, RequestOutcome[], boolean]>([
    ['both pods', both, [answer(API_1), answer(API_2)], true],
    ['one pod is missing', both, [answer(API_1), answer(API_1)], false],
    ['another pod answers', both, [answer(API_1), answer(API_2), answer('10.244.1.4:8080')], false],
    ['a wrong source', both, [answer(API_1), answer(API_2, '10.244.1.1')], false],
    ['a failure among answers', both, [answer(API_1), answer(API_2), { failure: 'timeout' }], false],
    [
      'affinity',
      { onePodOf: ['api-1', 'api-2'], seen: ['client'], why: '' },
      [answer(API_1), answer(API_1)],
      true,
    ],
    [
      'no affinity',
      { onePodOf: ['api-1', 'api-2'], seen: ['client'], why: '' },
      [answer(API_1), answer(API_2)],
      false,
    ],
    ['refused', { failure: 'refused', why: '' }, [{ failure: 'refused' }], true],
    ['not refused', { failure: 'refused', why: '' }, [{ failure: 'timeout' }], false],
    ['answered', { failure: 'refused', why: '' }, [answer(API_1)], false],
  ])('%s', (_, expectation, outcomes, passed) => {
    expect(judge(check(expectation), outcomes).passed).toBe(passed);
  });

  test('addresses become names, those of a node its name', () => {
    const { answers, seen } = judge(check(both), [answer(API_1, '10.244.1.1'), answer(API_2, '172.31.1.11')]);
    expect([...answers.keys()]).toEqual(['api-1', 'api-2']);
    expect(seen).toEqual(['node1']);
  });
});

test('the table lines up and marks what is wrong', () => {
  const good = judge(check({ pods: ['api-1'], seen: ['client'], why: 'api-1' }), [answer(API_1)]);
  const bad = judge(check({ failure: 'refused', why: 'refused' }), [{ failure: 'timeout' }]);
  const widths = columnWidths([good, bad].map(cells));
  const [, title, heading, first, second] = renderTable('Title', [good, bad], widths, paint(false)).split(
    '\n',
  );
  expect(title).toBe('Title');
  expect(first).toMatch(/api-1 1 .*✓ api-1$/);
  expect(second).toMatch(/no answer .*✗ refused$/);
  expect(first?.indexOf('✓')).toBe(second?.indexOf('✗'));
  expect(first?.indexOf('api-1 1')).toBe(heading?.indexOf('answered by'));
});
