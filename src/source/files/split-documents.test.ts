import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { splitDocuments } from './split-documents.ts';

test.each([
  [
    'a: 1\n---\nb: 2\n',
    [
      ['a: 1\n', 1],
      ['b: 2\n', 3],
    ],
  ],
  [
    '---\na: 1\n--- # note\nb: 2',
    [
      ['a: 1\n', 2],
      ['b: 2', 4],
    ],
  ],
  [
    'a: 1\n--- \n\n---\n',
    [
      ['a: 1\n', 1],
      ['\n', 3],
    ],
  ],
  [
    'a: 1\r\n---\r\nb: 2\r\n',
    [
      ['a: 1\r\n', 1],
      ['b: 2\r\n', 3],
    ],
  ],
  [
    'a: 1\n--- {b: 2}\n',
    [
      ['a: 1\n', 1],
      ['--- {b: 2}\n', 2],
    ],
  ],
  ['a: x\n ---\n----\n---b\n', [['a: x\n ---\n----\n---b\n', 1]]],
  ['%YAML 1.2\n---\na: 1\n---\nb: 2\n', [['%YAML 1.2\n---\na: 1\n---\nb: 2\n', 1]]],
  ['', []],
] as const)('%j', (text, documents) => {
  expect(splitDocuments(text).map((document) => [document.text, document.line])).toEqual(documents);
});

test('the pieces mean what the whole means', () => {
  const text = '# head\na: |\n  ---\n  text\n---\nb: "x"\n...\n---\n- c\n--- # d\n---\nlast: {x: 1}';
  const values = (whole: string) => parseAllDocuments(whole).map((document) => document.toJS());
  const pieces = splitDocuments(text).flatMap((document) => values(document.text));
  expect(pieces.filter((value) => value !== null)).toEqual(values(text).filter((value) => value !== null));
});
