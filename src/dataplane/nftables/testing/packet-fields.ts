import { parseIp } from '../../../base/ip.ts';
import { DATA_TYPES, type DataType, paddedLength, parseValue } from '../../../kernel/nftables/data-type.ts';
import { parseInterval } from '../../../kernel/nftables/intervals.ts';
import type { Selector } from '../../../kernel/nftables/selector/selector.ts';
import { selectorType } from '../../../kernel/nftables/selector/selector-type.ts';
import type { MatchStatement } from '../../../kernel/nftables/statement/match.ts';
import type { SetListing } from '../../../kernel/nftables/table-listing.ts';

/** The value of a field, in a spelling that its data type can be parsed from. */
export type FieldValue = string | number;

/** A key as the bytes that a set compares, for use in a Map. */
export function keyText(selectors: readonly Selector[], values: readonly FieldValue[]): string {
  const fields = selectors.map((selector, index) => {
    const type = selectorType(selector);
    const bytes = parseValue(type, values[index]!);
    if (bytes === undefined) throw new Error(`${values[index]} is no ${type}`);
    return selectors.length === 1
      ? bytes
      : Buffer.concat([bytes, Buffer.alloc(paddedLength(type) - bytes.length)]);
  });
  return Buffer.concat(fields).toString('latin1');
}

/** The rows of a set by {@link keyText}. */
export function indexRows({ set, rows }: SetListing): ReadonlyMap<string, number> {
  if (set.flags?.includes('interval') === true)
    throw new Error(`the tracer does not know intervals of ${set.name}`);
  const index = new Map<string, number>();
  for (let row = 0; row < (rows?.count ?? 0); row++) index.set(rows!.keyText(row), row);
  return index;
}

/** Whether a field has a constant of a match, written as in a {@link MatchStatement}; the operator is not looked at. */
export function equalsConstant(
  { left, mask }: MatchStatement,
  value: FieldValue,
  constant: FieldValue,
): boolean {
  const type = selectorType(left[0]!);
  if (mask !== undefined) return (Number(value) & mask) >>> 0 === Number(constant);
  if (type === 'ipv4_addr' || type === 'ipv6_addr') {
    const { first, last } = parseInterval(type, constant);
    const address = parseInterval(type, parseIp(String(value))!).first;
    return first <= address && address <= last;
  }
  if (type === 'ifname') {
    const name = String(constant);
    return name.endsWith('*') ? String(value).startsWith(name.slice(0, -1)) : value === name;
  }
  const [a, b] = [bytesOf(type, value), bytesOf(type, constant)];
  return DATA_TYPES[type].bitmask === true ? a.some((byte, i) => (byte & b[i]!) !== 0) : a.equals(b);
}

function bytesOf(type: DataType, value: FieldValue): Buffer {
  const bytes = parseValue(type, value);
  if (bytes === undefined) throw new Error(`${value} is no ${type}`);
  return bytes;
}
