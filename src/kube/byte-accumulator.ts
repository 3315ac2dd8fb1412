const initialCapacity = 16 * 1024;
const keptCapacity = 256 * 1024;

/**
 * Bytes that have arrived and are not yet used, always in one piece: `buffer` between `start` and `end`.
 * Grows with what has really arrived, never by what the data claims. Content moves on `append`, so nothing may be kept
 * that points into it.
 */
export class ByteAccumulator {
  buffer: Buffer = Buffer.allocUnsafeSlow(initialCapacity);
  start = 0;
  end = 0;
  /** Bytes taken since the beginning; for error offsets. */
  taken = 0;

  get length(): number {
    return this.end - this.start;
  }

  append(chunk: Uint8Array): void {
    if (this.start === this.end) {
      this.start = 0;
      this.end = 0;
      // One giant frame must not hold its memory for the life of the watch.
      if (this.buffer.length > keptCapacity) this.buffer = Buffer.allocUnsafeSlow(initialCapacity);
    }
    if (this.end + chunk.length > this.buffer.length) this.#makeRoom(chunk.length);
    this.buffer.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** Marks bytes at the start as used. */
  take(bytes: number): void {
    this.start += bytes;
    this.taken += bytes;
  }

  #makeRoom(bytes: number): void {
    const length = this.length;
    const target =
      length + bytes > this.buffer.length
        ? Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, length + bytes))
        : this.buffer;
    this.buffer.copy(target, 0, this.start, this.end);
    this.buffer = target;
    this.start = 0;
    this.end = length;
  }
}
