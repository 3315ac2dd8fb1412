import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { printYaml } from './print-yaml.ts';
import { readYamlDocument } from './yaml-document.ts';

/** How a reader of YAML 1.2, one of YAML 1.1, and our own reader see the value of `key`. */
function readBack(text: string): unknown[] {
  const node = readYamlDocument(text);
  const own = 'kind' in node && node.kind === 'map' ? node.entries[0]?.value : undefined;
  return [
    (parse(text, { version: '1.2' }) as { key: unknown }).key,
    (parse(text, { version: '1.1' }) as { key: unknown }).key,
    own?.kind === 'scalar' ? own.value : own,
  ];
}

describe('printing YAML', () => {
  test('any string is read back as it was, by every reader', () => {
    const tricky = fc.constantFrom(
      'yes',
      'on',
      '~',
      'null',
      '1.35',
      '0x1f',
      '1:30',
      '2001-01-01',
      '::',
      '[::]:1',
      'a: b',
    );
    const characters = fc.string({
      unit: fc.constantFrom(...' :#-?,[]{}&*!|>\'"%@`\n\tyno0.x_~=<'),
      maxLength: 6,
    });
    fc.assert(
      fc.property(fc.oneof(tricky, characters, fc.string({ unit: 'binary' })), (value) => {
        // A lone surrogate has no UTF-8 form and cannot come from a file.
        fc.pre(value.isWellFormed());
        expect(readBack(printYaml({ key: value }))).toEqual([value, value, value]);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['', '""'],
    ['0', '"0"'],
    ['1.35', '"1.35"'],
    ['true', '"true"'],
    ['::', "'::'"],
    ['[::]:10256', "'[::]:10256'"],
    ['fd00::1', 'fd00::1'],
    ['0.0.0.0:10256', '0.0.0.0:10256'],
    ["it's: so", "'it''s: so'"],
    ['proxier*', 'proxier*'],
    ['*proxier', "'*proxier'"],
  ])('%j is printed as %s', (value, printed) => {
    expect(printYaml({ key: value })).toBe(`key: ${printed}\n`);
  });

  test('blocks are indented, lists are not', () => {
    const text = printYaml({ b: { list: [{ z: 1, x: null }], empty: [] }, a: ['p', 'q'] });
    expect(text).toBe('a:\n- p\n- q\nb:\n  empty: []\n  list:\n  - x: null\n    z: 1\n');
  });
});
