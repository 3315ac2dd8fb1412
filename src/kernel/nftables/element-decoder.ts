import { shortAttribute } from '../netlink/attribute-error.ts';
import { AttributeReader } from '../netlink/attribute-reader.ts';
import { NLA_TYPE_MASK } from '../netlink/attribute-writer.ts';
import { readHostU16 } from '../netlink/byte-order.ts';
import { userdataComment } from './comment.ts';
import * as nft from './constants.ts';
import { NFTA_DATA_VALUE, NFTA_DATA_VERDICT } from './expr/codec.ts';
import { decodeExpr } from './expr/expr.ts';
import type { PackedElements } from './packed-elements.ts';
import { decodeVerdict } from './verdict.ts';

/**
 * Appends the elements of one NFT_MSG_NEWSETELEM to rows of the set's layout. Reads offsets rather than attribute
 * objects: a dump has one element per hundred bytes or so.
 */
export function decodeElements(list: AttributeReader, rows: PackedElements): void {
  const { bytes } = list;
  while (list.next()) {
    if (list.type !== nft.NFTA_SET_ELEM_LIST_ELEMENTS) continue;
    const end = list.valueStart + list.valueLength;
    let at = list.valueStart;
    while (at + 4 <= end) {
      const length = readHostU16(bytes, at);
      if (length < 4 || at + length > end) throw shortAttribute('element', length, end - at);
      decodeElement(bytes, at + 4, at + length, rows);
      at += (length + 3) & ~3;
    }
  }
}

function decodeElement(bytes: Buffer, start: number, end: number, rows: PackedElements): void {
  rows.begin();
  const row = rows.count - 1;
  const target = row * rows.rowLength;
  let at = start;
  while (at + 4 <= end) {
    const length = readHostU16(bytes, at);
    if (length < 4 || at + length > end) throw shortAttribute('element', length, end - at);
    const value = at + 4;
    const valueEnd = at + length;
    switch (readHostU16(bytes, at + 2) & NLA_TYPE_MASK) {
      case nft.NFTA_SET_ELEM_KEY:
        copyValue(bytes, value, valueEnd, rows.bytes, target, rows.keyLength);
        break;
      case nft.NFTA_SET_ELEM_DATA:
        if (rows.dataLength > 0) {
          copyValue(bytes, value, valueEnd, rows.bytes, target + rows.dataOffset, rows.dataLength);
        } else decodeVerdictData(bytes, value, valueEnd, rows);
        break;
      case nft.NFTA_SET_ELEM_FLAGS:
        rows.flags ??= [];
        rows.flags[row] = bytes.readUInt32BE(atLeast(4, value, valueEnd));
        break;
      case nft.NFTA_SET_ELEM_TIMEOUT:
        rows.timeoutsMs ??= [];
        rows.timeoutsMs[row] = Number(bytes.readBigUInt64BE(atLeast(8, value, valueEnd)));
        break;
      case nft.NFTA_SET_ELEM_EXPIRATION:
        rows.expirationsMs ??= [];
        rows.expirationsMs[row] = Number(bytes.readBigUInt64BE(atLeast(8, value, valueEnd)));
        break;
      case nft.NFTA_SET_ELEM_USERDATA: {
        const comment = userdataComment(bytes.subarray(value, valueEnd));
        if (comment !== undefined) rows.comment(comment);
        break;
      }
      case nft.NFTA_SET_ELEM_EXPR:
        addCounter(new AttributeReader(bytes, value, valueEnd, 'element.expression'), rows, row);
        break;
      case nft.NFTA_SET_ELEM_EXPRESSIONS: {
        const list = new AttributeReader(bytes, value, valueEnd, 'element.expressions');
        while (list.next()) addCounter(list.nested('expression'), rows, row);
        break;
      }
    }
    at += (length + 3) & ~3;
  }
}

/** Copies the one NFTA_DATA_VALUE inside, at most as many bytes as the row has room for. */
function copyValue(bytes: Buffer, start: number, end: number, into: Buffer, at: number, room: number): void {
  const length = readHostU16(bytes, start);
  if (
    start + length > end ||
    length - 4 !== room ||
    (readHostU16(bytes, start + 2) & NLA_TYPE_MASK) !== NFTA_DATA_VALUE
  ) {
    throw shortAttribute('element value', room, length - 4);
  }
  bytes.copy(into, at, start + 4, start + length);
}

/** Where a value of `need` bytes starts, if it has so many. */
function atLeast(need: number, start: number, end: number): number {
  if (end - start < need) throw shortAttribute('element', need, end - start);
  return start;
}

function decodeVerdictData(bytes: Buffer, start: number, end: number, rows: PackedElements): void {
  const reader = new AttributeReader(bytes, start, end, 'element.data');
  while (reader.next()) {
    const verdict = reader.type === NFTA_DATA_VERDICT ? decodeVerdict(reader.nested('verdict')) : undefined;
    if (verdict !== undefined) rows.verdict(verdict);
  }
}

function addCounter(reader: AttributeReader, rows: PackedElements, row: number): void {
  const expr = decodeExpr(reader);
  if (expr.kind !== 'counter') return;
  rows.counters ??= [];
  rows.counters[row] = { packets: expr.packets, bytes: expr.bytes };
}
