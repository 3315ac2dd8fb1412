import { describe, expect, test } from 'vitest';
import type { RequestOutcome } from '../testbed/agent-protocol.ts';
import { type CompareContext, compareProbe } from './compare.ts';
import { groupProbes } from './run-probes.ts';
import type { Expectation, Probe } from './scenario.ts';

const A = '10.244.1.2:8080';
const B = '10.244.2.2:8080';
const LOCAL = '198.51.100.10';

function context(): CompareContext {
  return { nodeAddresses: new Set(['172.31.0.11', '10.244.1.1']), stickyServers: new Map() };
}

function answer(server: string, client = LOCAL): RequestOutcome {
  return { server, client: `${client}:40000`, local: LOCAL };
}

function probe(fields: Partial<Probe> = {}): Probe {
  return { from: 'client', to: '10.96.0.10:80', count: 2, expect: {}, ...fields };
}

function verdict(expected: Expectation, outcomes: RequestOutcome[], fields: Partial<Probe> = {}): string {
  const result = compareProbe(probe(fields), expected, outcomes, context());
  if (result.kind === 'fail') return result.reasons.join('; ');
  return result.kind === 'pass' ? 'pass' : `incomplete: ${result.missing.join(', ')}`;
}

describe('answers', () => {
  const both = { endpoints: [A, B], source: 'preserved' } as const;
  test.each<[string, Expectation, RequestOutcome[], string]>([
    ['the exact set', both, [answer(A), answer(B)], 'pass'],
    ['one has not shown yet', both, [answer(A), answer(A)], `incomplete: ${B}`],
    ['a stranger', { endpoints: [A], source: 'preserved' }, [answer(A), answer(B)], `unexpected server ${B}`],
    [
      'a masqueraded source',
      { endpoints: [A], source: 'preserved' },
      [answer(A, '172.31.0.11')],
      `${A} saw source node, not preserved`,
    ],
    ['masquerade as expected', { endpoints: [A], source: 'node' }, [answer(A, '10.244.1.1')], 'pass'],
    [
      'a third address',
      { endpoints: [A], source: 'node' },
      [answer(A, '192.0.2.1')],
      `${A} saw source 192.0.2.1, not node`,
    ],
    [
      'sources by server',
      { endpoints: [A, B], source: { [A]: 'node', [B]: 'preserved' } },
      [answer(A, '172.31.0.11'), answer(B)],
      'pass',
    ],
    [
      'one server with two sources',
      { endpoints: [A], source: 'node' },
      [answer(A, '172.31.0.11'), answer(A)],
      `${A} saw source preserved, not node`,
    ],
    [
      'a failure among answers',
      { endpoints: [A], source: 'preserved' },
      [answer(A), { failure: 'timeout' }],
      '1 requests ended as timeout',
    ],
    [
      'an expected failure among answers',
      { endpoints: [A], source: 'preserved', errors: ['timeout'] },
      [answer(A), { failure: 'timeout' }],
      'pass',
    ],
    [
      'an expected failure that stays away',
      { endpoints: [A], source: 'preserved', errors: ['timeout'] },
      [answer(A)],
      'incomplete: timeout',
    ],
    [
      'no answer at all',
      both,
      [{ failure: 'refused' }],
      `1 requests ended as refused; ${A} never answered; ${B} never answered`,
    ],
  ])('%s', (_, expected, outcomes, result) => {
    expect(verdict(expected, outcomes)).toBe(result);
  });

  test('an IPv6 client address is compared without brackets and port', () => {
    const outcome = { server: '[fd00::1]:80', client: '[2001:db8:100::10]:40000', local: '2001:db8:100::10' };
    expect(verdict({ endpoints: ['[fd00::1]:80'], source: 'preserved' }, [outcome])).toBe('pass');
  });

  test('share: each endpoint has at least its share of the answers', () => {
    const three = [answer(A), answer(A), answer(A), answer(B)];
    expect(verdict(both, three, { share: 0.25 })).toBe('pass');
    expect(verdict(both, three, { share: 0.3 })).toBe(`${B} has a share of 0.250, less than 0.3`);
  });
});

describe('failures', () => {
  test.each<[string, RequestOutcome[], string]>([
    ['all the same', [{ failure: 'refused' }, { failure: 'refused' }], 'pass'],
    ['another word', [{ failure: 'refused' }, { failure: 'timeout' }], 'ended as timeout, not refused'],
    [
      'an answer',
      [{ failure: 'refused' }, answer(A)],
      'answered, though every request should end as refused',
    ],
  ])('%s', (_, outcomes, result) => {
    expect(verdict('refused', outcomes)).toBe(result);
  });

  test('accept adds another right outcome and nothing else', () => {
    const expected = { endpoints: [A], source: 'preserved' } as const;
    expect(verdict(expected, [{ failure: 'refused' }], { accept: ['refused'] })).toBe('pass');
    expect(verdict(expected, [{ failure: 'timeout' }], { accept: ['refused'] })).not.toBe('pass');
  });
});

describe('affinity', () => {
  const expected = { oneOf: [A, B], source: 'preserved' } as const;
  test('one server, and the same one under the same label', () => {
    const shared = context();
    const ask = (server: string, sticky: string) =>
      compareProbe(probe({ sticky }), expected, [answer(server), answer(server)], shared).kind;
    expect(ask(A, 'x')).toBe('pass');
    expect(ask(B, 'y')).toBe('pass');
    expect(ask(A, 'x')).toBe('pass');
    expect(ask(B, 'x')).toBe('fail');
  });

  test('two servers, or one that is not in the list', () => {
    expect(verdict(expected, [answer(A), answer(B)], { sticky: 'x' })).toContain(
      '2 servers answered one client',
    );
    expect(verdict(expected, [answer('10.244.1.3:8080')], { sticky: 'x' })).toContain('unexpected server');
  });
});

describe('http', () => {
  const expected = { status: 200, body: { localEndpoints: 2 }, weight: '2' };
  test.each<[string, RequestOutcome, string]>([
    ['equal', { status: 200, body: { localEndpoints: 2 }, weight: '2' }, 'pass'],
    ['status', { status: 503, body: { localEndpoints: 2 }, weight: '2' }, 'status 503, not 200'],
    [
      'body',
      { status: 200, body: { localEndpoints: 1 }, weight: '2' },
      'body {"localEndpoints":1}, not {"localEndpoints":2}',
    ],
    ['no header', { status: 200, body: { localEndpoints: 2 } }, 'endpoint weight header undefined, not 2'],
    ['refused', { failure: 'refused' }, '1 requests ended as refused'],
  ])('%s', (_, outcome, result) => {
    expect(verdict(expected, [outcome])).toBe(result);
  });

  test('body: false compares the status only', () => {
    expect(verdict({ status: 200 }, [{ status: 200, body: 'anything' }], { body: false })).toBe('pass');
  });
});

test('probes share a group of at most six; conn, sticky, gap and serial stay alone', () => {
  const plain = Array.from({ length: 7 }, () => probe());
  const groups = groupProbes([
    ...plain,
    probe({ conn: 'c' }),
    probe(),
    probe({ serial: true }),
    probe({ gap: 5 }),
  ]);
  expect(groups.map((group) => group.length)).toEqual([6, 1, 1, 1, 1, 1]);
});
