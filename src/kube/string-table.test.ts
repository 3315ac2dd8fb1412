import { describe, expect, test } from 'vitest';
import { StringTable } from './string-table.ts';

describe('StringTable', () => {
  const bytes = (text: string) => Buffer.from(text);
  const read = (table: StringTable, text: string) => table.fromBytes(bytes(text), 0, bytes(text).length);

  test('gives back what was read, whatever it is', () => {
    const table = new StringTable();
    for (const text of ['', 'a', 'node-1', 'ünïcödé', 'x'.repeat(64), 'x'.repeat(5000), '\0', '節點']) {
      expect(read(table, text)).toBe(text);
      expect(read(table, text)).toBe(text);
      expect(table.fromString(text)).toBe(text);
    }
  });

  test('reads a part of the buffer', () => {
    expect(new StringTable().fromBytes(bytes('xxnode-1yy'), 2, 8)).toBe('node-1');
  });

  test('stays right and bounded through many strings', () => {
    const table = new StringTable();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 40_000; i++) {
        if (read(table, `node-${i}`) !== `node-${i}`) throw new Error(`node-${i}`);
      }
    }
  });

  test('shares lists of one string', () => {
    const table = new StringTable();
    expect(table.single('zone-a')).toBe(table.single('zone-a'));
    expect(table.single('zone-b')).toEqual(['zone-b']);
  });
});
