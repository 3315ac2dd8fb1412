import { commentText } from './comment.ts';
import { formatValue, paddedLength } from './data-type.ts';
import { durationText } from './duration.ts';
import { layoutTypes } from './layout.ts';
import type { Layout, NftMap, NftSet } from './objects.ts';
import type { PackedElements } from './packed-elements.ts';

/** What of an element is printed besides key and data. `state` adds what changes by itself: times left, counters. */
export interface ElementTextOptions {
  readonly keyOnly?: boolean;
  readonly state?: boolean;
}

/** One element in nft syntax: `10.96.0.1 . tcp . 80 comment "ns/svc" : goto balance-2`. */
export function elementText(
  of: NftSet | NftMap,
  rows: PackedElements,
  row: number,
  options: ElementTextOptions = {},
): string {
  const key = fieldsText(of.key, rows.bytes, row * rows.rowLength, rows.keyLength);
  if (options.keyOnly === true) return key;
  let text = key;
  const state = options.state ?? true;
  const timeout = rows.timeoutsMs?.[row];
  if (timeout !== undefined && state) text += ` timeout ${durationText(timeout)}`;
  const expiration = rows.expirationsMs?.[row];
  if (expiration !== undefined && state) text += ` expires ${durationText(expiration)}`;
  const counter = rows.counters?.[row];
  if (counter !== undefined && state) text += ` counter packets ${counter.packets} bytes ${counter.bytes}`;
  text += commentText(rows.comments?.[row]);
  if (of.kind !== 'map') return text;
  if (of.data === 'verdict') return `${text} : ${rows.verdicts?.[row] ?? '?'}`;
  const at = row * rows.rowLength + rows.dataOffset;
  return `${text} : ${fieldsText(of.data, rows.bytes, at, rows.dataLength)}`;
}

/** Fields of a key or of data, joined as nft does; hex where the types are not known. */
function fieldsText(layout: Layout, bytes: Buffer, start: number, length: number): string {
  const types = layoutTypes(layout);
  if (types.length === 0) return `0x${bytes.toString('hex', start, start + length)}`;
  let text = '';
  let at = start;
  for (const type of types) {
    text += text === '' ? formatValue(type, bytes, at) : ` . ${formatValue(type, bytes, at)}`;
    at += paddedLength(type);
  }
  return text;
}
