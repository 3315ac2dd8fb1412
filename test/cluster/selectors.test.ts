import { describe, expect, test } from 'vitest';
import { resourceNamed } from './resources.ts';
import { parseFieldSelector, parseLabelSelector, SelectorError } from './selectors.ts';

const labelled = (labels?: Record<string, string>) => ({
  metadata: { name: 'x', namespace: 'default', ...(labels === undefined ? {} : { labels }) },
  spec: { clusterIP: 'None' },
});

describe('label selectors', () => {
  test.each([
    ['!a', {}, true],
    ['!a', { a: '' }, false],
    ['a', { a: '' }, true],
    ['a', { b: '1' }, false],
    ['a=1', { a: '1' }, true],
    ['a==1', { a: '2' }, false],
    ['a=', { a: '' }, true],
    ['a!=1', { a: '2' }, true],
    ['a!=1', {}, true],
    ['a!=1', { a: '1' }, false],
    ['a in (1, 2)', { a: '2' }, true],
    ['a in (1,2)', {}, false],
    ['a notin (1,2)', {}, true],
    ['a notin (1,2)', { a: '1' }, false],
    ['a in (1,2),!b', { a: '1' }, true],
    ['a in (1,2),!b', { a: '1', b: 'x' }, false],
    ['!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name', { app: 'web' }, true],
  ] as const)('%s on %o: %s', (selector, labels, matches) => {
    expect(parseLabelSelector(selector)(labelled(labels))).toBe(matches);
  });

  test('an object without labels', () => {
    expect(parseLabelSelector('!a')(labelled())).toBe(true);
    expect(parseLabelSelector('a')(labelled())).toBe(false);
  });

  test('nonsense is refused', () => {
    expect(() => parseLabelSelector('a in 1')).toThrow(SelectorError);
  });
});

describe('field selectors', () => {
  const services = resourceNamed('services');
  test.each([
    ['metadata.name=x', true],
    ['metadata.name!=x', false],
    ['spec.clusterIP!=None', false],
    ['spec.clusterIP=None,metadata.namespace=default', true],
    ['spec.type=', true],
  ])('%s: %s', (selector, matches) => {
    expect(parseFieldSelector(services, selector)(labelled())).toBe(matches);
  });

  test('an unknown field is refused', () => {
    expect(() => parseFieldSelector(services, 'spec.color=red')).toThrow(/field label not supported/);
    expect(() => parseFieldSelector(resourceNamed('nodes'), 'spec.clusterIP=None')).toThrow(SelectorError);
  });
});
