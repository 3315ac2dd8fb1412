import { type AttributeError, attributeTooLong, invalidAttribute } from './attribute-error.ts';
import { writeHostU16, writeHostU32 } from './byte-order.ts';

/** Bytes of `struct nlattr` (linux/netlink.h): u16 length, u16 type. */
export const ATTRIBUTE_HEADER = 4;
/** Marks an attribute as a list of attributes. */
export const NLA_F_NESTED = 0x8000;
/** The part of an attribute's type that is the type. */
export const NLA_TYPE_MASK = 0x3fff;
/** The largest attribute, its header included: the length field has 16 bits. */
export const MAX_ATTRIBUTE_LENGTH = 0xffff;

/** `length` rounded up to the 4 bytes netlink aligns to. */
export const align4 = (length: number): number => (length + 3) & ~3;

/**
 * Appends netlink attributes to one growing buffer. Padding is always zero.
 *
 * No method throws: the first error sticks with the path of the attribute it happened in, later calls are harmless,
 * and {@link finish} throws it. The path is made of the names given to {@link beginNested} and {@link enter}.
 */
export class AttributeWriter {
  /** The buffer; replaced when it grows, so do not keep a reference across calls. Only the first `length` bytes count. */
  bytes: Buffer;
  /** Bytes written. */
  length = 0;
  #error: AttributeError | undefined;
  readonly #path: (string | number)[] = [];

  constructor(initialCapacity = 4096) {
    this.bytes = Buffer.alloc(initialCapacity);
  }

  get error(): AttributeError | undefined {
    return this.#error;
  }

  /** Dotted path of where the writer is; a number is printed as an index. */
  path(leaf?: string): string {
    let text = '';
    for (const step of leaf === undefined ? this.#path : [...this.#path, leaf]) {
      text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
    }
    return text === '' ? 'message' : text;
  }

  /** Adds a step to the path of errors. Must be paired with {@link leave}. */
  enter(step: string | number): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Records an error; only the first one counts. */
  fail(reason: string, leaf?: string): void {
    this.#error ??= invalidAttribute(this.path(leaf), reason);
  }

  /** Forgets everything that was written, keeps the buffer. */
  reset(): void {
    this.bytes.fill(0, 0, this.length);
    this.length = 0;
    this.#error = undefined;
    this.#path.length = 0;
  }

  /** What was written, without a copy. Throws the first error. */
  finish(): Buffer {
    if (this.#error !== undefined) throw this.#error;
    return this.bytes.subarray(0, this.length);
  }

  /** Appends `count` zero bytes and returns where they start, for callers that write into {@link bytes} themselves. */
  reserve(count: number): number {
    const at = this.length;
    const end = at + count;
    if (end > this.bytes.length) this.#grow(end);
    this.length = end;
    return at;
  }

  addFlag(type: number): void {
    this.#header(type, 0);
  }

  addU8(type: number, value: number): void {
    const at = this.#header(type, 1);
    if (this.#inRange(value, 0xff, 'u8')) this.bytes[at] = value;
  }

  /** 16 bits in host order. */
  addU16(type: number, value: number): void {
    const at = this.#header(type, 2);
    if (this.#inRange(value, 0xffff, 'u16')) writeHostU16(this.bytes, value, at);
  }

  /** 16 bits in network order. */
  addU16be(type: number, value: number): void {
    const at = this.#header(type, 2);
    if (this.#inRange(value, 0xffff, 'u16')) this.bytes.writeUInt16BE(value, at);
  }

  /** 32 bits in host order. */
  addU32(type: number, value: number): void {
    const at = this.#header(type, 4);
    if (this.#inRange(value, 0xffff_ffff, 'u32')) writeHostU32(this.bytes, value, at);
  }

  /** 32 bits in network order. */
  addU32be(type: number, value: number): void {
    const at = this.#header(type, 4);
    if (this.#inRange(value, 0xffff_ffff, 'u32')) this.bytes.writeUInt32BE(value, at);
  }

  /** A signed number in 32 bits of network order, e.g. a hook priority. */
  addI32be(type: number, value: number): void {
    const at = this.#header(type, 4);
    if (!Number.isInteger(value) || value < -0x8000_0000 || value > 0x7fff_ffff) {
      this.fail(`${value} is not an i32`);
    } else {
      this.bytes.writeInt32BE(value, at);
    }
  }

  /** 64 bits in network order. */
  addU64be(type: number, value: bigint): void {
    const at = this.#header(type, 8);
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) this.fail(`${value} is not a u64`);
    else this.bytes.writeBigUInt64BE(value, at);
  }

  /** UTF-8 text with the NUL the kernel's NLA_NUL_STRING policies expect. */
  addString(type: number, text: string): void {
    if (text.includes('\0')) {
      this.fail(`text contains a NUL: ${JSON.stringify(text)}`);
      return;
    }
    const size = Buffer.byteLength(text);
    const at = this.#header(type, size + 1);
    this.bytes.write(text, at, size, 'utf8');
  }

  addBytes(type: number, value: Uint8Array): void {
    const at = this.#header(type, value.length);
    this.bytes.set(value, at);
  }

  /**
   * Opens a list of attributes and returns the token {@link endNested} needs.
   * Its length is patched in place when it is closed. `name` becomes a step of error paths.
   */
  beginNested(type: number, name: string | number): number {
    this.#path.push(name);
    return this.#header(type | NLA_F_NESTED, 0) - ATTRIBUTE_HEADER;
  }

  endNested(token: number): void {
    const length = this.length - token;
    if (length > MAX_ATTRIBUTE_LENGTH) this.#error ??= attributeTooLong(this.path(), length);
    else writeHostU16(this.bytes, length, token);
    this.#path.pop();
  }

  /** Writes an attribute's header, makes room for `size` bytes and padding, and returns where the value starts. */
  #header(type: number, size: number): number {
    const total = size + ATTRIBUTE_HEADER;
    const at = this.reserve(align4(total));
    if (total > MAX_ATTRIBUTE_LENGTH) this.#error ??= attributeTooLong(this.path(), total);
    else writeHostU16(this.bytes, total, at);
    writeHostU16(this.bytes, type, at + 2);
    return at + ATTRIBUTE_HEADER;
  }

  #inRange(value: number, max: number, kind: string): boolean {
    if (Number.isInteger(value) && value >= 0 && value <= max) return true;
    this.fail(`${value} is not a ${kind}`);
    return false;
  }

  #grow(need: number): void {
    // Half again rather than double: a transaction of tens of megabytes should not need twice its size.
    const larger = Buffer.alloc(Math.max(need, Math.ceil(this.bytes.length * 1.5), 256));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
