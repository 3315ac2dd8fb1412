import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatIp } from '../../base/ip.ts';
import { intervalRows, intervalText, parseIntervals, rowsToIntervals } from './intervals.ts';

const text = (type: 'ipv4_addr' | 'ipv6_addr' | 'inet_service', values: (string | number)[]) =>
  parseIntervals(type, values).map((interval) => intervalText(type, interval));

describe('intervals', () => {
  test('overlapping and touching ones are merged, and printed as networks where they are', () => {
    expect(text('ipv4_addr', ['10.1.0.0/16', '10.0.0.0/16'])).toEqual(['10.0.0.0/15']);
    expect(text('ipv4_addr', ['10.0.0.0/8', '10.1.2.3', '9.255.255.255'])).toEqual([
      '9.255.255.255-10.255.255.255',
    ]);
    expect(text('ipv4_addr', ['255.255.255.255', '0.0.0.0'])).toEqual(['0.0.0.0', '255.255.255.255']);
    expect(text('ipv6_addr', ['fd00::/8', '::1/128'])).toEqual(['::1', 'fd00::/8']);
    expect(text('inet_service', ['80-89', 90])).toEqual(['80-90']);
  });

  test('rows begin with an end at zero unless zero is inside, and the last may stay open', () => {
    const rows = intervalRows('ipv4_addr', parseIntervals('ipv4_addr', ['1.2.3.4', '255.0.0.0/8']));
    expect(Array.from({ length: rows.count }, (_, i) => [formatIp(rows.key(i)), rows.flags?.[i]])).toEqual([
      ['0.0.0.0', 1],
      ['1.2.3.4', 0],
      ['1.2.3.5', 1],
      ['255.0.0.0', 0],
    ]);
    expect(intervalRows('ipv4_addr', parseIntervals('ipv4_addr', ['0.0.0.0/1'])).count).toBe(2);
  });

  test('any list holds the same addresses after merging, and comes back from its rows in any order', () => {
    const cidr = fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 24, max: 32 }));
    fc.assert(
      fc.property(fc.array(cidr, { minLength: 1, maxLength: 8 }), fc.integer(), (list, seed) => {
        const values = list.map(([host, bits]) => `192.0.2.${host}/${bits}`);
        const intervals = parseIntervals('ipv4_addr', values);
        const inList = (host: number) =>
          list.some(([address, bits]) => host >> (32 - bits) === address >> (32 - bits));
        const base = 0xc000_0200n;
        for (let host = 0; host < 256; host++) {
          const at = base + BigInt(host);
          expect(intervals.some(({ first, last }) => first <= at && at <= last)).toBe(inList(host));
        }
        const rows = intervalRows('ipv4_addr', intervals);
        const shuffled = intervalRows('ipv4_addr', []);
        const order = Array.from({ length: rows.count }, (_, i) => i);
        order.sort((a, b) => ((a * 7919 + seed) % 13) - ((b * 7919 + seed) % 13));
        for (const row of order) shuffled.append(rows, row);
        expect(rowsToIntervals('ipv4_addr', shuffled)).toEqual(intervals);
      }),
    );
  });
});
