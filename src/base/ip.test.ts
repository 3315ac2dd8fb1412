import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cidrContains, formatCidr, formatIp, ipBytes, parseCidr, parseIp, parseIpBytes } from './ip.ts';

describe('parseIp', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['172.30.0.041', '172.30.0.41'],
    ['010.001.000.000', '10.1.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['FD00:0:0:0:0:0:0:0A', 'fd00::a'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['1:0:0:2:0:0:3:4', '1::2:0:0:3:4'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::ffff:0a01:0203', '10.1.2.3'],
    ['64:ff9b::10.1.2.3', '64:ff9b::a01:203'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ])('%s is %s', (text, canonical) => {
    expect(parseIp(text)).toBe(canonical);
  });

  test.each([
    '',
    ' 10.0.0.1',
    '10.0.0.1 ',
    '10.0.0',
    '10.0.0.0.1',
    '10.0.0.256',
    '10.0.0.',
    '.10.0.0',
    '10..0.1',
    '10.0.0.x',
    '0x0a.0.0.1',
    ':',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    'fe80::1%eth0',
    '12345::',
    'g::',
    '::1.2.3',
    '1:2:3:4:5:6:7:1.2.3.4',
    '1:2:3:4:5:6:7:8::',
  ])('%j is no address', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });

  test('reads back what it prints', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc
        .array(fc.constantFrom(0, 0, 1, 0xff), { minLength: 16, maxLength: 16 })
        .map((list) => Uint8Array.from(list)),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        const text = formatIp(input);
        const mapped = input.length === 16 && input.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255';
        expect([...parseIpBytes(text)!]).toEqual([...(mapped ? input.slice(12) : input)]);
        if (!mapped) expect(parseIp(text)).toBe(text);
      }),
    );
  });

  test('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseIp(text)));
    fc.assert(fc.property(fc.stringMatching(/^[0-9a-f:./]{0,40}$/), (text) => void parseCidr(text)));
  });
});

describe('parseCidr', () => {
  test.each([
    ['1.2.3.4/28', '1.2.3.0/28'],
    ['203.0.113.0/025', '203.0.113.0/25'],
    ['203.000.113.000/24', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
    ['::/0', '::/0'],
    ['::ffff:1.2.3.4/120', '1.2.3.0/24'],
  ])('%s is %s', (text, canonical) => {
    expect(formatCidr(parseCidr(text)!)).toBe(canonical);
  });

  test.each([
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '/8',
    '::ffff:1.2.3.4/64',
  ])('%j is no network', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  test('a network contains the addresses of its prefix and family only', () => {
    const cidr = parseCidr('203.0.113.0/25')!;
    expect(cidrContains(cidr, '203.0.113.127')).toBe(true);
    expect(cidrContains(cidr, '203.0.113.128')).toBe(false);
    expect(cidrContains(parseCidr('::/0')!, '203.0.113.1')).toBe(false);
    expect(() => ipBytes('nonsense')).toThrow(RangeError);
  });
});
