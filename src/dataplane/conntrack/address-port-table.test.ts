import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatIp } from '../../base/ip.ts';
import { AddressPortTable } from './address-port-table.ts';

const address = (length: number) =>
  // Few distinct bytes, so that keys repeat and differ in single places.
  fc.uint8Array({ minLength: length, maxLength: length, max: 3 });

test.each([
  ['IPv4', 4],
  ['IPv6', 16],
] as const)('%s: behaves like a Map', (family, length) => {
  const entries = fc.array(fc.tuple(address(length), fc.nat(65_535), fc.nat(1000)), { maxLength: 300 });
  fc.assert(
    fc.property(entries, entries, (stored, asked) => {
      const table = new AddressPortTable(family);
      const map = new Map<string, number>();
      for (const [bytes, port, value] of stored) {
        table.set(bytes, 0, port, value);
        map.set(`${formatIp(bytes)} ${port}`, value);
      }
      expect(table.size).toBe(map.size);
      for (const [bytes, port] of [...stored, ...asked]) {
        expect(table.get(bytes, 0, port)).toBe(map.get(`${formatIp(bytes)} ${port}`) ?? -1);
      }
    }),
  );
});

test('reads an address in the middle of a buffer', () => {
  const table = new AddressPortTable('IPv4');
  table.setText('10.96.0.1', 53, 7);
  expect(table.get(Buffer.from([1, 2, 3, 10, 96, 0, 1, 9]), 3, 53)).toBe(7);
  expect(table.getText('10.96.0.1', 54)).toBe(-1);
  expect(() => table.setText('fd00::1', 53, 1)).toThrow('fd00::1 is of the other address family');
});
