import { expect, test } from 'vitest';
import { clusterIPKey, hairpinKey, SharedElements, visitShared } from './shared-elements.ts';

test('an element is added with its first user and deleted with its last', () => {
  const shared = new SharedElements();
  const key = clusterIPKey('10.96.0.1');
  expect(shared.change(key, 2)).toBe('added');
  expect(shared.change(key, 1)).toBeUndefined();
  expect(shared.change(key, -2)).toBeUndefined();
  expect([...shared.keys]).toEqual([key]);
  expect(shared.change(key, -1)).toBe('deleted');
  expect(shared.size).toBe(0);
  expect(shared.change(key, 0)).toBeUndefined();
  expect(shared.size).toBe(0);
});

test('keys differ by every part, and tell what they stand for', () => {
  const keys = [
    clusterIPKey('10.96.0.1'),
    hairpinKey('10.96.0.1', 'TCP', 80),
    hairpinKey('10.96.0.1', 'UDP', 80),
    hairpinKey('10.96.0.1', 'TCP', 81),
    hairpinKey('fd00::1', 'SCTP', 80),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  const visited: unknown[] = [];
  for (const key of keys) {
    visitShared(key, {
      clusterIP: (ip) => visited.push([ip]),
      hairpin: (...parts) => visited.push(parts),
    });
  }
  expect(visited).toEqual([
    ['10.96.0.1'],
    ['10.96.0.1', 'TCP', 80],
    ['10.96.0.1', 'UDP', 80],
    ['10.96.0.1', 'TCP', 81],
    ['fd00::1', 'SCTP', 80],
  ]);
});
