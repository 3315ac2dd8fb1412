import { shortAttribute } from './attribute-error.ts';
import { ATTRIBUTE_HEADER, align4, NLA_TYPE_MASK } from './attribute-writer.ts';
import { readHostI32, readHostU16, readHostU32 } from './byte-order.ts';

/**
 * Walks a list of netlink attributes without copying it.
 *
 * ```ts
 * const reader = new AttributeReader(bytes, 20, bytes.length, 'table');
 * while (reader.next()) if (reader.type === NFTA_TABLE_NAME) name = reader.string();
 * ```
 *
 * The value methods belong to the attribute {@link next} stopped at. They throw AttributeError
 * (NETLINK_ATTRIBUTE_SHORT) when the value has fewer bytes than asked for.
 */
export class AttributeReader {
  /** Type of the current attribute, without the flag bits. */
  type = -1;
  /** Where the current value starts in {@link bytes}. */
  valueStart = 0;
  /** Bytes of the current value, without padding. */
  valueLength = 0;
  readonly bytes: Buffer;
  readonly #end: number;
  readonly #path: string;
  #next: number;

  /** Reads attributes from `start` up to `end`; `path` says in errors what is being read. */
  constructor(bytes: Buffer, start: number, end: number, path: string) {
    this.bytes = bytes;
    this.#next = start;
    this.#end = end;
    this.#path = path;
  }

  /** Steps to the next attribute; false at the end of the list. */
  next(): boolean {
    const at = this.#next;
    const left = this.#end - at;
    if (left <= 0) return false;
    if (left < ATTRIBUTE_HEADER) throw shortAttribute(this.#path, ATTRIBUTE_HEADER, left);
    const length = readHostU16(this.bytes, at);
    if (length < ATTRIBUTE_HEADER || length > left) {
      throw shortAttribute(this.#path, Math.max(length, ATTRIBUTE_HEADER), left);
    }
    this.type = readHostU16(this.bytes, at + 2) & NLA_TYPE_MASK;
    this.valueStart = at + ATTRIBUTE_HEADER;
    this.valueLength = length - ATTRIBUTE_HEADER;
    this.#next = at + align4(length);
    return true;
  }

  u8(): number {
    this.#need(1);
    return this.bytes[this.valueStart]!;
  }

  /** 16 bits in host order. */
  u16(): number {
    this.#need(2);
    return readHostU16(this.bytes, this.valueStart);
  }

  /** 16 bits in network order. */
  u16be(): number {
    this.#need(2);
    return this.bytes.readUInt16BE(this.valueStart);
  }

  /** 32 bits in host order. */
  u32(): number {
    this.#need(4);
    return readHostU32(this.bytes, this.valueStart);
  }

  /** Signed 32 bits in host order. */
  i32(): number {
    this.#need(4);
    return readHostI32(this.bytes, this.valueStart);
  }

  /** 32 bits in network order. */
  u32be(): number {
    this.#need(4);
    return this.bytes.readUInt32BE(this.valueStart);
  }

  /** Signed 32 bits in network order. */
  i32be(): number {
    this.#need(4);
    return this.bytes.readInt32BE(this.valueStart);
  }

  /** 64 bits in network order. */
  u64be(): bigint {
    this.#need(8);
    return this.bytes.readBigUInt64BE(this.valueStart);
  }

  /** Text up to the first NUL or the end of the value. */
  string(): string {
    const end = this.valueStart + this.valueLength;
    const nul = this.bytes.indexOf(0, this.valueStart);
    return this.bytes.toString('utf8', this.valueStart, nul >= 0 && nul < end ? nul : end);
  }

  /** The value as a view; copy it to keep it longer than the receive buffer. */
  view(): Buffer {
    return this.bytes.subarray(this.valueStart, this.valueStart + this.valueLength);
  }

  /** A copy of the value. */
  copy(): Buffer {
    return Buffer.from(this.view());
  }

  /** A reader over the value as a list of attributes; `name` extends the path of errors. */
  nested(name: string): AttributeReader {
    return new AttributeReader(
      this.bytes,
      this.valueStart,
      this.valueStart + this.valueLength,
      `${this.#path}.${name}`,
    );
  }

  #need(count: number): void {
    if (this.valueLength < count) throw shortAttribute(`${this.#path}#${this.type}`, count, this.valueLength);
  }
}
