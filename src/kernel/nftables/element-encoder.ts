import {
  type AttributeWriter,
  align4,
  MAX_ATTRIBUTE_LENGTH,
  NLA_F_NESTED,
} from '../netlink/attribute-writer.ts';
import { hostIsLittleEndian, writeHostU16 } from '../netlink/byte-order.ts';
import { commentUserdata, isPlainComment, UDATA_COMMENT } from './comment.ts';
import * as nft from './constants.ts';
import { NFTA_DATA_VALUE, NFTA_DATA_VERDICT } from './expr/codec.ts';
import { encodeExpr } from './expr/expr.ts';
import type { PackedElements } from './packed-elements.ts';
import { encodeVerdict, type Verdict } from './verdict.ts';

const HEADER = 4;
/** Room for the longest row: key, data, verdict with chain name, user data, times, counter and their headers. */
const LONGEST_ROW = 1024;

/** An attribute's length and type as one word in memory order. */
const headerWord = (length: number, type: number): number =>
  hostIsLittleEndian ? ((type << 16) | length) >>> 0 : ((length << 16) | type) >>> 0;

/**
 * Appends as many rows as fit one NFTA_SET_ELEM_LIST_ELEMENTS attribute (65535 bytes), beginning with `from`, and
 * returns the first row that was left out. `keysOnly` leaves data and extras away, as deletions want it.
 */
export function encodeElements(
  writer: AttributeWriter,
  rows: PackedElements,
  from: number,
  keysOnly: boolean,
): number {
  const token = writer.beginNested(nft.NFTA_SET_ELEM_LIST_ELEMENTS, 'elements');
  const plain = keysOnly ? rows.flags === undefined : isPlain(rows);
  const next = plain
    ? encodePlain(writer, rows, from, keysOnly)
    : encodeRich(writer, rows, from, keysOnly, token);
  writer.endNested(token);
  return next;
}

/** Bytes all rows take at most, to size a buffer. */
export function estimateElements(rows: PackedElements): number {
  const perRow = 5 * HEADER + rows.rowLength + (isPlain(rows) ? 0 : 48);
  const comments = rows.comments === undefined ? 0 : rows.count * 64;
  return rows.count * perRow + comments + (Math.ceil((rows.count * perRow) / MAX_ATTRIBUTE_LENGTH) + 1) * 128;
}

function isPlain(rows: PackedElements): boolean {
  return (
    rows.verdicts === undefined &&
    rows.comments === undefined &&
    rows.timeoutsMs === undefined &&
    rows.expirationsMs === undefined &&
    rows.counters === undefined &&
    rows.flags === undefined
  );
}

/** Rows of equal size: whole words are copied between two buffers, nothing is allocated. */
function encodePlain(writer: AttributeWriter, rows: PackedElements, from: number, keysOnly: boolean): number {
  const { keyLength, rowLength } = rows;
  const dataLength = keysOnly ? 0 : rows.dataLength;
  const keyBytes = align4(keyLength);
  const dataBytes = align4(dataLength);
  const keyAttribute = 2 * HEADER + keyBytes;
  const size = HEADER + keyAttribute + (dataLength === 0 ? 0 : 2 * HEADER + dataBytes);
  const to = Math.min(rows.count, from + Math.floor((MAX_ATTRIBUTE_LENGTH - HEADER) / size));

  const start = writer.reserve((to - from) * size);
  const target = wordsOf(writer.bytes);
  const source = wordsOf(rows.bytes);
  const keyWords = keyBytes / 4;
  const dataWords = dataBytes / 4;
  const keyHeader = headerWord(keyAttribute, nft.NFTA_SET_ELEM_KEY | NLA_F_NESTED);
  const keyValueHeader = headerWord(HEADER + keyLength, NFTA_DATA_VALUE);
  const dataHeader = headerWord(2 * HEADER + dataBytes, nft.NFTA_SET_ELEM_DATA | NLA_F_NESTED);
  const dataValueHeader = headerWord(HEADER + dataLength, NFTA_DATA_VALUE);
  let out = start / 4;
  for (let row = from; row < to; row++) {
    let word = (row * rowLength) / 4;
    // The kernel does not read the type of list entries; like nft we number them.
    target[out++] = headerWord(size, (row - from + 1) | NLA_F_NESTED);
    target[out++] = keyHeader;
    target[out++] = keyValueHeader;
    for (let i = 0; i < keyWords; i++) target[out++] = source[word++]!;
    if (dataLength === 0) continue;
    target[out++] = dataHeader;
    target[out++] = dataValueHeader;
    for (let i = 0; i < dataWords; i++) target[out++] = source[word++]!;
  }
  return to;
}

function encodeRich(
  writer: AttributeWriter,
  rows: PackedElements,
  from: number,
  keysOnly: boolean,
  listStart: number,
): number {
  const { verdicts, comments, timeoutsMs, expirationsMs, counters, flags } = rows;
  const encodedVerdicts = new Map<Verdict, Uint8Array>();
  let row = from;
  while (row < rows.count && writer.length - listStart + LONGEST_ROW <= MAX_ATTRIBUTE_LENGTH) {
    const element = writer.beginNested(row - from + 1, row);
    const flag = flags?.[row] ?? 0;
    if (flag !== 0) writer.addU32be(nft.NFTA_SET_ELEM_FLAGS, flag);
    if (!keysOnly) addTimes(writer, timeoutsMs?.[row], expirationsMs?.[row]);
    addValue(writer, nft.NFTA_SET_ELEM_KEY, rows.bytes, row * rows.rowLength, rows.keyLength);
    if (!keysOnly) {
      if (rows.dataLength > 0) {
        const at = row * rows.rowLength + rows.dataOffset;
        addValue(writer, nft.NFTA_SET_ELEM_DATA, rows.bytes, at, rows.dataLength);
      }
      const verdict = verdicts?.[row];
      if (verdict !== undefined) addVerdict(writer, verdict, encodedVerdicts);
      const counter = counters?.[row];
      if (counter !== undefined) {
        const expr = writer.beginNested(nft.NFTA_SET_ELEM_EXPR, 'counter');
        encodeExpr(writer, { kind: 'counter', ...counter });
        writer.endNested(expr);
      }
      const comment = comments?.[row];
      if (comment !== undefined) addComment(writer, comment);
    }
    writer.endNested(element);
    row++;
  }
  return row;
}

function addTimes(
  writer: AttributeWriter,
  timeout: number | undefined,
  expiration: number | undefined,
): void {
  if (timeout !== undefined) writer.addU64be(nft.NFTA_SET_ELEM_TIMEOUT, BigInt(timeout));
  if (expiration !== undefined) writer.addU64be(nft.NFTA_SET_ELEM_EXPIRATION, BigInt(expiration));
}

/** A nested NFTA_DATA_VALUE, copied from row to message without intermediate views. */
function addValue(writer: AttributeWriter, type: number, from: Buffer, at: number, length: number): void {
  const size = 2 * HEADER + align4(length);
  const start = writer.reserve(size);
  const { bytes } = writer;
  writeHostU16(bytes, size, start);
  writeHostU16(bytes, type | NLA_F_NESTED, start + 2);
  writeHostU16(bytes, HEADER + length, start + HEADER);
  writeHostU16(bytes, NFTA_DATA_VALUE, start + HEADER + 2);
  from.copy(bytes, start + 2 * HEADER, at, at + length);
}

/** Comments are mostly short and ASCII, and there may be one for each Service: those are written in place. */
function addComment(writer: AttributeWriter, comment: string): void {
  if (!isPlainComment(comment)) {
    writer.addBytes(nft.NFTA_SET_ELEM_USERDATA, commentUserdata(comment));
    return;
  }
  const tlv = 2 + comment.length + 1;
  const start = writer.reserve(align4(HEADER + tlv));
  const { bytes } = writer;
  writeHostU16(bytes, HEADER + tlv, start);
  writeHostU16(bytes, nft.NFTA_SET_ELEM_USERDATA, start + 2);
  bytes[start + HEADER] = UDATA_COMMENT;
  bytes[start + HEADER + 1] = comment.length + 1;
  bytes.write(comment, start + HEADER + 2, 'latin1');
}

/** A few hundred chains serve many rows, so each verdict is encoded once per message. */
function addVerdict(writer: AttributeWriter, verdict: Verdict, cache: Map<Verdict, Uint8Array>): void {
  const known = cache.get(verdict);
  if (known !== undefined) {
    const at = writer.reserve(known.length);
    writer.bytes.set(known, at);
    return;
  }
  const start = writer.length;
  const data = writer.beginNested(nft.NFTA_SET_ELEM_DATA, 'data');
  const nested = writer.beginNested(NFTA_DATA_VERDICT, 'verdict');
  encodeVerdict(writer, verdict);
  writer.endNested(nested);
  writer.endNested(data);
  cache.set(verdict, Buffer.from(writer.bytes.subarray(start, writer.length)));
}

function wordsOf(bytes: Buffer): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
}
