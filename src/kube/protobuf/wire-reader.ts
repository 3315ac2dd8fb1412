import { DecodeError } from '../decode-error.ts';
import { strings } from '../string-table.ts';
import { utf8String } from '../utf8-string.ts';

/** Wire types of the protobuf encoding. Groups (3, 4) are refused: Kubernetes has none. */
const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireFixed32 = 5;

/**
 * Reads protobuf fields between `position` and `limit`. Every read is checked against `limit` and either moves on or
 * throws DecodeError, so that any input ends; nothing is allocated for a length that the input merely states.
 *
 * A message is read as `for (let field = reader.next(); field !== 0; field = reader.next()) switch (field) { … }` with
 * `default: reader.skip()`, a nested one between {@link enter} and {@link leave}. Every typed read refuses a field whose wire type is another one.
 */
export class WireReader {
  bytes: Buffer;
  position: number;
  limit: number;
  #field = 0;
  #wireType = wireVarint;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.limit = end;
  }

  /** Makes the reader read other bytes, so that one object serves a whole stream. */
  reset(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes;
    this.position = start;
    this.limit = end;
  }

  /** Number of the next field, whose value must then be read or skipped; 0 at the limit. */
  next(): number {
    const offset = this.position;
    if (offset >= this.limit) return 0;
    const first = this.bytes[offset]!;
    if (first < 0x80) {
      this.position = offset + 1;
      this.#field = first >> 3;
      this.#wireType = first & 7;
      if (first < 8) this.#refuse(offset);
      return this.#field;
    }
    const tag = this.varint();
    this.#field = Math.floor(tag / 8);
    this.#wireType = tag & 7;
    if (tag < 8 || tag > 0xffffffff) this.#refuse(offset);
    return this.#field;
  }

  /**
   * After {@link next}: how many bytes the value takes from the position on, without reading it; it may lie beyond the
   * limit. For a length-delimited field the position moves behind the length. Throws DECODE_TRUNCATED when a length or
   * a varint is not complete.
   */
  extent(): number {
    switch (this.#wireType) {
      case wireBytes:
        return this.varint();
      case wireVarint: {
        const start = this.position;
        this.varint();
        const length = this.position - start;
        this.position = start;
        return length;
      }
      case wireFixed32:
        return 4;
      case wireFixed64:
        return 8;
      default:
        this.#refuse(this.position);
    }
  }

  /** Refuses the field just begun unless it is length-delimited, as messages are. */
  expectMessage(): void {
    if (this.#wireType !== wireBytes) this.#refuse(this.position);
  }

  /** An unsigned varint. Above 2^53 the result is rounded. */
  varint(): number {
    const bytes = this.bytes;
    const limit = this.limit;
    const offset = this.position;
    if (offset >= limit) throw new DecodeError({ code: 'DECODE_TRUNCATED', offset });
    const first = bytes[offset]!;
    if (first < 0x80) {
      this.position = offset + 1;
      return first;
    }
    // Lengths of up to 2 MiB stay in integer arithmetic.
    let value = first & 0x7f;
    for (let i = 1; i < 3 && offset + i < limit; i++) {
      const byte = bytes[offset + i]!;
      value |= (byte & 0x7f) << (i * 7);
      if (byte < 0x80) {
        this.position = offset + i + 1;
        return value;
      }
    }
    return this.#longVarint(offset);
  }

  #longVarint(offset: number): number {
    let value = 0;
    let scale = 1;
    for (let i = offset; i < offset + 10; i++) {
      if (i >= this.limit) throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.limit });
      const byte = this.bytes[i]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.position = i + 1;
        return value;
      }
      scale *= 128;
    }
    throw new DecodeError({ code: 'DECODE_VARINT_TOO_LONG', offset });
  }

  /** An int32: the low 32 bits, as protobuf defines it. */
  int32(): number {
    if (this.#wireType !== wireVarint) this.#refuse(this.position);
    const offset = this.position;
    const value = this.varint();
    if (value <= 0x7fffffff) return value;
    // Rounded values have lost their low bits; read those again.
    let low = 0;
    for (let i = 0; i < 5 && offset + i < this.position; i++)
      low |= (this.bytes[offset + i]! & 0x7f) << (i * 7);
    return low;
  }

  /** An int64 as a number; values beyond 2^53 are rounded. */
  int64(): number {
    if (this.#wireType !== wireVarint) this.#refuse(this.position);
    const offset = this.position;
    const value = this.varint();
    if (this.position - offset < 10) return value;
    let exact = 0n;
    for (let i = this.position - 1; i >= offset; i--) exact = (exact << 7n) | BigInt(this.bytes[i]! & 0x7f);
    return Number(BigInt.asIntN(64, exact));
  }

  bool(): boolean {
    if (this.#wireType !== wireVarint) this.#refuse(this.position);
    return this.varint() !== 0;
  }

  /** A string of its own: it never keeps the buffer alive. */
  string(): string {
    const end = this.end();
    const start = this.position;
    this.position = end;
    return utf8String(this.bytes, start, end);
  }

  /** A string that is likely to come again, shared through {@link strings}. */
  sharedString(): string {
    const end = this.end();
    const start = this.position;
    this.position = end;
    return strings.fromBytes(this.bytes, start, end);
  }

  /** Whether the string at the position is this ASCII text; reads it in any case. */
  isString(text: string): boolean {
    const end = this.end();
    const start = this.position;
    this.position = end;
    if (end - start !== text.length) return false;
    for (let i = 0; i < text.length; i++) if (this.bytes[start + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  /** Narrows the reader to the nested message at the position; returns what {@link leave} needs. */
  enter(): number {
    const outer = this.limit;
    this.limit = this.end();
    return outer;
  }

  /** Goes on behind the nested message, whatever of it was read. */
  leave(outer: number): void {
    this.position = this.limit;
    this.limit = outer;
  }

  /** Passes over the value of the field. */
  skip(): void {
    switch (this.#wireType) {
      case wireVarint:
        this.varint();
        return;
      case wireBytes:
        this.position = this.end();
        return;
      case wireFixed32:
        this.#advance(4);
        return;
      case wireFixed64:
        this.#advance(8);
        return;
      default:
        this.#refuse(this.position);
    }
  }

  /** Reads the length of a length-delimited field and returns where its content ends. */
  end(): number {
    if (this.#wireType !== wireBytes) this.#refuse(this.position);
    const length = this.varint();
    const end = this.position + length;
    if (end > this.limit) throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.limit });
    return end;
  }

  #advance(bytes: number): void {
    if (this.position + bytes > this.limit)
      throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.limit });
    this.position += bytes;
  }

  #refuse(offset: number): never {
    throw new DecodeError({ code: 'DECODE_WIRE_TYPE', offset, field: this.#field, wireType: this.#wireType });
  }
}
