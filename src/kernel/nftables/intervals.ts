import { parseCidr } from '../../base/ip.ts';
import { DATA_TYPES, type DataType, formatValue, parseValue } from './data-type.ts';
import { invalidValue } from './nftables-error.ts';
import { PackedElements } from './packed-elements.ts';

/** An inclusive range of values, read as big-endian numbers. */
export interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

const SET_ELEM_INTERVAL_END = 1;

/**
 * Reads values of an interval set (addresses, CIDRs, `from-to`) and merges those that overlap or touch, as nft does
 * with sets written in place. Sorted. Throws NftablesError for what is no value.
 */
export function parseIntervals(type: DataType, values: readonly (string | number)[]): Interval[] {
  const intervals = values.map((value) => parseInterval(type, value));
  intervals.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const merged: { first: bigint; last: bigint }[] = [];
  for (const interval of intervals) {
    const previous = merged.at(-1);
    if (previous === undefined || interval.first > previous.last + 1n) merged.push({ ...interval });
    else if (interval.last > previous.last) previous.last = interval.last;
  }
  return merged;
}

/** An interval in nft syntax: an address, a CIDR where it is one, else `from-to`. */
export function intervalText(type: DataType, { first, last }: Interval): string {
  const size = DATA_TYPES[type].length;
  const text = (value: bigint) => formatValue(type, toBytes(value, size));
  if (first === last) return text(first);
  const span = last - first + 1n;
  const isPrefix = (span & (span - 1n)) === 0n && first % span === 0n;
  if (isPrefix && isAddress(type)) return `${text(first)}/${size * 8 - (span.toString(2).length - 1)}`;
  return `${text(first)}-${text(last)}`;
}

/**
 * The rows the kernel keeps for intervals: where each starts and, marked as end, the first value behind it. A set
 * that does not start at zero begins with an end at zero, as the kernel's tree expects.
 */
export function intervalRows(type: DataType, intervals: readonly Interval[]): PackedElements {
  const size = DATA_TYPES[type].length;
  const beyond = 1n << BigInt(size * 8);
  const rows = new PackedElements(size, 0, intervals.length * 2 + 1);
  rows.flags = [];
  const row = (value: bigint, flags: number): void => {
    rows.begin();
    toBytes(value, size).copy(rows.bytes, (rows.count - 1) * rows.rowLength);
    rows.flags?.push(flags);
  };
  if (intervals.length > 0 && intervals[0]!.first !== 0n) row(0n, SET_ELEM_INTERVAL_END);
  for (const { first, last } of intervals) {
    row(first, 0);
    if (last + 1n < beyond) row(last + 1n, SET_ELEM_INTERVAL_END);
  }
  return rows;
}

/** The reverse of {@link intervalRows}, for rows in any order. */
export function rowsToIntervals(type: DataType, rows: PackedElements): Interval[] {
  const size = DATA_TYPES[type].length;
  const edges: { at: bigint; end: boolean }[] = [];
  for (let row = 0; row < rows.count; row++) {
    const end = ((rows.flags?.[row] ?? 0) & SET_ELEM_INTERVAL_END) !== 0;
    edges.push({ at: toNumber(rows.key(row)), end });
  }
  // An end sorts before a start at the same value: intervals that touch stay apart.
  edges.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : Number(b.end) - Number(a.end)));
  const intervals: Interval[] = [];
  let first: bigint | undefined;
  for (const edge of edges) {
    if (edge.end && first !== undefined) {
      intervals.push({ first, last: edge.at - 1n });
      first = undefined;
    } else if (!edge.end) first = edge.at;
  }
  if (first !== undefined) intervals.push({ first, last: (1n << BigInt(size * 8)) - 1n });
  return intervals;
}

/** Whether a value needs a set with the flag `interval`: a CIDR or a range. */
export const isIntervalValue = (type: DataType, value: string | number): boolean =>
  typeof value === 'string' && (isAddress(type) ? /[-/]/.test(value) : /^[0-9]+-[0-9]+$/.test(value));

const isAddress = (type: DataType): boolean => type === 'ipv4_addr' || type === 'ipv6_addr';

/** Reads one value, CIDR or `from-to` range. Throws NftablesError for what is none. */
export function parseInterval(type: DataType, value: string | number): Interval {
  const size = DATA_TYPES[type].length;
  const text = String(value);
  if (isAddress(type) && text.includes('/')) {
    const cidr = parseCidr(text);
    const bytes = cidr && parseValue(type, cidr.address);
    if (cidr === undefined || bytes === undefined)
      throw invalidValue('interval', value, `an ${type} network`);
    const first = toNumber(bytes);
    return { first, last: first + (1n << BigInt(size * 8 - cidr.prefixLength)) - 1n };
  }
  const dash = isIntervalValue(type, value) ? text.indexOf('-') : -1;
  const first = parseValue(type, dash < 0 ? value : text.slice(0, dash));
  const last = dash < 0 ? first : parseValue(type, text.slice(dash + 1));
  if (first === undefined || last === undefined || toNumber(first) > toNumber(last)) {
    throw invalidValue('interval', value, `an ${type} or a range of them`);
  }
  return { first: toNumber(first), last: toNumber(last) };
}

/** An unsigned number of big-endian bytes. */
export function toNumber(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

/** A number as big-endian bytes. */
export function toBytes(value: bigint, size: number): Buffer {
  return Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex');
}
