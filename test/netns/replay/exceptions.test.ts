import { expect, test } from 'vitest';
import { exceptionReason, loadExceptions, parseExceptions, VARIANTS } from './exceptions.ts';
import { loadScenario } from './scenario.ts';

test('every exception names a scenario that exists', () => {
  for (const { scenario } of loadExceptions()) expect(loadScenario(scenario).name).toBe(scenario);
});

test('an exception counts for its variants only', () => {
  const exceptions = parseExceptions('- {scenario: a, variants: [nftables], reason: because}');
  expect(VARIANTS.map((variant) => exceptionReason(exceptions, 'a', variant))).toEqual([
    'because',
    undefined,
    undefined,
  ]);
});

test.each([
  ['- {scenario: a, variants: [nftables]}', 'no reason'],
  ['- {scenario: a, variants: [nftables], reason: " "}', 'no reason'],
  ['- {scenario: a, variants: [], reason: r}', 'no variants'],
  ['- {scenario: a, variants: [ipvs2], reason: r}', 'unknown variant'],
  ['- {variants: [nftables], reason: r}', 'names no scenario'],
])('%s is refused', (text, message) => {
  expect(() => parseExceptions(text)).toThrow(message);
});
