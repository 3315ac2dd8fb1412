/** Appends protobuf fields to a buffer that grows as needed. Lengths of nested messages are filled in afterwards. */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(1024);
  #length = 0;

  /** A copy of what was written. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Negative values take ten bytes, as int32 and int64 do in protobuf. */
  int(field: number, value: number): void {
    this.varint(field << 3);
    this.varint(value);
  }

  string(field: number, text: string): void {
    this.bytes(field, Buffer.from(text, 'utf8'));
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.varint((field << 3) | 2);
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** A nested message whose content `write` appends. */
  message(field: number, write: () => void): void {
    this.varint((field << 3) | 2);
    const start = this.#length;
    write();
    const size = this.#length - start;
    const prefix = varintSize(size);
    this.#reserve(prefix);
    this.#buffer.copyWithin(start + prefix, start, this.#length);
    this.#length = start;
    this.varint(size);
    this.#length += size;
  }

  varint(value: number): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 0x7fn) {
      this.#buffer[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#length++] = Number(rest);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}
