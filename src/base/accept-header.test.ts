import { expect, test } from 'vitest';
import { qualityOf, readAccept } from './accept-header.ts';

const types = (header: string) => readAccept(header).map(({ type }) => type);

test('sorts by quality, then by wildcards, then as written', () => {
  expect(types('*/*, text/*, b/b;q=0.5, text/plain, a/a')).toEqual([
    'text/plain',
    'a/a',
    'text/*',
    '*/*',
    'b/b',
  ]);
});

test('reads parameters, quoted or not, and skips what is empty', () => {
  const [clause] = readAccept(' , Application/JSON ; V=v1beta1; g="config.k8s.io";flag;q=0.3,');
  expect(clause).toEqual({
    type: 'application/json',
    parameters: new Map([
      ['v', 'v1beta1'],
      ['g', 'config.k8s.io'],
    ]),
    quality: 0.3,
  });
  expect(readAccept('')).toEqual([]);
});

test('a quality that is none counts as 1', () => {
  expect(readAccept('a;q=x, b;q=7, c;q=').map(({ quality }) => quality)).toEqual([1, 1, 1]);
});

test('quality of a name', () => {
  expect(qualityOf(readAccept('gzip;q=0.2, *;q=0.5'), 'gzip')).toBe(0.5);
  expect(qualityOf(readAccept('gzip;q=0.2'), 'identity')).toBe(-1);
});
