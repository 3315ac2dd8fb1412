import { DATA_TYPES, type DataType, formatValue, parseValue, readNumber } from '../data-type.ts';
import {
  intervalRows,
  intervalText,
  isIntervalValue,
  parseIntervals,
  rowsToIntervals,
} from '../intervals.ts';
import { layoutTypes } from '../layout.ts';
import { invalidValue } from '../nftables-error.ts';
import type { Family, NftMap, NftSet } from '../objects.ts';
import { PackedElements } from '../packed-elements.ts';
import type { Selector } from '../selector/selector.ts';
import { selectorType } from '../selector/selector-type.ts';
import { ANONYMOUS_MAP, ANONYMOUS_SET } from './rule-builder.ts';
import type { AnonymousAddressMap, AnonymousSet, AnonymousVerdictMap } from './set-reference.ts';

/** A set or map written in place, ready to be sent, and its text. */
export interface AnonymousContents {
  readonly set: NftSet | NftMap;
  readonly rows: PackedElements;
  /** `{ a, b }`, in the order of the values' bytes. */
  readonly text: string;
}

/** `{ 10.0.0.0/8, 192.168.1.1 }` for keys of one field. */
export function buildAnonymousSet(left: readonly Selector[], { values }: AnonymousSet): AnonymousContents {
  const { type, selector } = single(left);
  if (values.length === 0) throw invalidValue('match', '{ }', 'a set with at least one value');
  const interval = values.some((value) => isIntervalValue(type, value));
  const set: NftSet = {
    kind: 'set',
    name: ANONYMOUS_SET,
    key: { typeof: [selector] },
    flags: interval ? ['constant', 'interval'] : ['constant'],
  };
  if (interval) {
    const intervals = parseIntervals(type, values);
    const text = intervals.map((one) => intervalText(type, one)).join(', ');
    const rows = intervalRows(type, intervals);
    return { set: { ...set, size: rows.count }, rows, text: `{ ${text} }` };
  }
  const keys = [...new Map(values.map((value) => keyOf(type, value))).values()].sort(Buffer.compare);
  const rows = new PackedElements(DATA_TYPES[type].length, 0, keys.length);
  for (const key of keys) key.copy(rows.begin().bytes, (rows.count - 1) * rows.rowLength);
  const text = keys.map((key) => formatValue(type, key)).join(', ');
  return { set: { ...set, size: rows.count }, rows, text: `{ ${text} }` };
}

/** The values of a set that {@link buildAnonymousSet} made. */
export function readAnonymousSet(set: NftSet | NftMap, rows: PackedElements): AnonymousSet | undefined {
  const type = layoutTypes(set.key)[0];
  if (type === undefined || layoutTypes(set.key).length !== 1) return undefined;
  if (set.flags?.includes('interval') === true) {
    return { values: rowsToIntervals(type, rows).map((interval) => intervalText(type, interval)) };
  }
  return { values: sortedRows(rows).map((row) => constantOf(type, rows.key(row))) };
}

/** `{ 0 : goto a, 1 : goto b }`. */
export function buildVerdictMap(
  key: readonly Selector[],
  { verdicts }: AnonymousVerdictMap,
): AnonymousContents {
  const { type, selector } = single(key);
  if (verdicts.length === 0) throw invalidValue('vmap', '{ }', 'a map with at least one entry');
  const entries = verdicts.map(([value, verdict]) => ({ key: keyOf(type, value)[1], verdict }));
  entries.sort((a, b) => compareKeys(type, a.key, b.key));
  const rows = new PackedElements(DATA_TYPES[type].length, 0, entries.length);
  for (const entry of entries) {
    entry.key.copy(rows.begin().bytes, (rows.count - 1) * rows.rowLength);
    rows.verdict(entry.verdict);
  }
  const text = entries.map((entry) => `${formatValue(type, entry.key)} : ${entry.verdict}`).join(', ');
  const set: NftMap = {
    kind: 'map',
    name: ANONYMOUS_MAP,
    key: { typeof: [selector] },
    data: 'verdict',
    flags: ['constant'],
    size: rows.count,
  };
  return { set, rows, text: `{ ${text} }` };
}

/** The entries of a map that {@link buildVerdictMap} made. */
export function readVerdictMap(set: NftSet | NftMap, rows: PackedElements): AnonymousVerdictMap | undefined {
  const type = layoutTypes(set.key)[0];
  if (type === undefined || rows.verdicts === undefined) return undefined;
  const verdicts: [string | number, AnonymousVerdictMap['verdicts'][number][1]][] = [];
  for (const row of sortedRows(rows, type)) {
    const verdict = rows.verdicts[row];
    if (verdict === undefined) return undefined;
    verdicts.push([constantOf(type, rows.key(row)), verdict]);
  }
  return { verdicts };
}

/** `{ 0 : 10.0.0.1 . 80, 1 : 10.0.0.2 . 80 }`, or addresses without ports. */
export function buildAddressMap(
  key: readonly Selector[],
  { addresses }: AnonymousAddressMap,
  family: Family,
  withPort: boolean,
): AnonymousContents {
  const { type, selector } = single(key);
  if (addresses.length === 0) throw invalidValue('dnat', '{ }', 'a map with at least one entry');
  const addressType = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const set: NftMap = {
    kind: 'map',
    name: ANONYMOUS_MAP,
    key: { typeof: [selector] },
    data: { type: withPort ? [addressType, 'inet_service'] : [addressType] },
    flags: ['constant'],
    size: addresses.length,
  };
  const entries = addresses.map(([value, address, port]) => ({ key: keyOf(type, value)[1], address, port }));
  entries.sort((a, b) => compareKeys(type, a.key, b.key));
  const rows = PackedElements.for(set, entries.length);
  const texts: string[] = [];
  for (const { key: keyBytes, address, port } of entries) {
    const bytes = parseValue(addressType, address);
    if (bytes === undefined) throw invalidValue('dnat', address, `an ${addressType}`);
    if ((port === undefined) === withPort)
      throw invalidValue('dnat', port, 'a port in every entry, or in none');
    keyBytes.copy(rows.begin().bytes, (rows.count - 1) * rows.rowLength);
    const at = (rows.count - 1) * rows.rowLength + rows.dataOffset;
    bytes.copy(rows.bytes, at);
    if (port !== undefined) rows.bytes.writeUInt16BE(port, at + bytes.length);
    const to = port === undefined ? address : `${address} . ${port}`;
    texts.push(`${formatValue(type, keyBytes)} : ${to}`);
  }
  return { set, rows, text: `{ ${texts.join(', ')} }` };
}

/** The entries of a map that {@link buildAddressMap} made. */
export function readAddressMap(set: NftSet | NftMap, rows: PackedElements): AnonymousAddressMap | undefined {
  if (set.kind !== 'map' || set.data === 'verdict') return undefined;
  const type = layoutTypes(set.key)[0];
  const [addressType, portType] = layoutTypes(set.data);
  if (type === undefined || (addressType !== 'ipv4_addr' && addressType !== 'ipv6_addr')) return undefined;
  const length = DATA_TYPES[addressType].length;
  const addresses: [string | number, string, number?][] = [];
  for (const row of sortedRows(rows, type)) {
    const data = rows.data(row);
    const address = formatValue(addressType, data);
    const key = constantOf(type, rows.key(row));
    addresses.push(portType === undefined ? [key, address] : [key, address, data.readUInt16BE(length)]);
  }
  return { addresses };
}

function single(selectors: readonly Selector[]): { type: DataType; selector: Selector } {
  const [selector] = selectors;
  if (selector === undefined || selectors.length !== 1) {
    throw invalidValue('set written in place', selectors.length, 'for a key of one field');
  }
  return { type: selectorType(selector), selector };
}

function keyOf(type: DataType, value: string | number): [text: string, bytes: Buffer] {
  const bytes = parseValue(type, value);
  if (bytes === undefined) throw invalidValue('set written in place', value, `a value of type ${type}`);
  return [bytes.toString('hex'), bytes];
}

function constantOf(type: DataType, key: Buffer): string | number {
  const text = formatValue(type, key);
  return /^[0-9]+$/.test(text) ? readNumber(DATA_TYPES[type], key, 0) : text;
}

/** Order of the values, not of the bytes, for numbers in host order. */
function compareKeys(type: DataType, a: Buffer, b: Buffer): number {
  const info = DATA_TYPES[type];
  return info.length <= 4 ? readNumber(info, a, 0) - readNumber(info, b, 0) : Buffer.compare(a, b);
}

function sortedRows(rows: PackedElements, type?: DataType): number[] {
  const order = Array.from({ length: rows.count }, (_, row) => row);
  return order.sort((a, b) =>
    type === undefined
      ? Buffer.compare(rows.key(a), rows.key(b))
      : compareKeys(type, rows.key(a), rows.key(b)),
  );
}
