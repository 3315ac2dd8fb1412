import { expect, test } from 'vitest';
import {
  DATA_TYPES,
  type DataType,
  dataTypeById,
  formatValue,
  paddedLength,
  parseValue,
} from './data-type.ts';
import { durationText } from './duration.ts';
import { isVerdict, verdictChain } from './verdict.ts';

const rows: readonly (readonly [DataType, string | number, string])[] = [
  ['ipv4_addr', '10.0.0.1', '10.0.0.1'],
  ['ipv6_addr', 'FD00:0::1', 'fd00::1'],
  ['inet_proto', 'tcp', 'tcp'],
  ['inet_proto', 132, 'sctp'],
  ['inet_proto', 47, '47'],
  ['inet_service', 65_535, '65535'],
  ['integer', 4_294_967_295, '4294967295'],
  ['mark', 0x4000, '0x00004000'],
  ['mark', '0x4000', '0x00004000'],
  ['ifname', 'eth0', '"eth0"'],
  ['nf_proto', 'ipv6', 'ipv6'],
  ['ct_state', 'new,established', 'established,new'],
  ['ct_state', 0x8000, '0x8000'],
  ['ct_status', 'dnat', 'dnat'],
  ['ct_dir', 'reply', 'reply'],
  ['fib_addrtype', 'local', 'local'],
];

test.each(rows)('%s %s is printed as %s', (type, value, text) => {
  const bytes = parseValue(type, value);
  expect(bytes).toHaveLength(DATA_TYPES[type].length);
  expect(formatValue(type, bytes!)).toBe(text);
});

test('every type has a row, a number of its own and whole registers', () => {
  const types = Object.keys(DATA_TYPES) as DataType[];
  expect(types.filter((type) => !rows.some(([known]) => known === type))).toEqual([]);
  for (const type of types) {
    expect(dataTypeById(DATA_TYPES[type].id)).toBe(type);
    expect(paddedLength(type) % 4).toBe(0);
  }
});

test.each<[DataType, string | number]>([
  ['ipv4_addr', '10.0.0'],
  ['ipv4_addr', 'fd00::1'],
  ['ipv6_addr', '10.0.0.1'],
  ['ipv6_addr', '::ffff:10.0.0.1'],
  ['inet_proto', 256],
  ['inet_proto', 'TCP'],
  ['inet_service', 65_536],
  ['inet_service', -1],
  ['inet_service', 1.5],
  ['inet_service', ''],
  ['ifname', ''],
  ['ifname', 'a-name-of-sixteen'],
  ['ct_state', 'new,'],
])('%s %j is no value', (type, value) => expect(parseValue(type, value)).toBeUndefined());

test('numbers are stored as the type wants them', () => {
  expect(parseValue('inet_service', 80)).toEqual(Buffer.from([0, 80]));
  const mark = Buffer.from(new Uint8Array(new Uint32Array([0x4000]).buffer));
  expect(parseValue('mark', 0x4000)).toEqual(mark);
  expect(parseValue('integer', 0x4000)).toEqual(mark);
});

test('durations are printed as nft prints them', () => {
  expect([0, 1, 1000, 90_000, 10_800_000, 86_400_000 + 61_004].map(durationText)).toEqual([
    '0s',
    '1ms',
    '1s',
    '1m30s',
    '3h',
    '1d1m1s4ms',
  ]);
});

test('verdicts are told from other text, and name the chain they lead to', () => {
  for (const text of ['drop', 'accept', 'continue', 'return', 'jump a', 'goto a-b/c'])
    expect(isVerdict(text)).toBe(true);
  for (const text of ['', 'jump', 'jump ', 'goto a b', 'Drop', 'toString', 'queue'])
    expect(isVerdict(text)).toBe(false);
  expect([verdictChain('jump a'), verdictChain('goto b'), verdictChain('drop')]).toEqual([
    'a',
    'b',
    undefined,
  ]);
});
