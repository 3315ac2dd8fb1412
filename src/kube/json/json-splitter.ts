import { ByteAccumulator } from '../byte-accumulator.ts';
import { DecodeError } from '../decode-error.ts';
import { maxObjectBytes } from '../stream-decoder.ts';

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Cuts JSON that arrives in pieces into objects without parsing it, so that a list of any size is never in memory as a
 * whole. In `stream` mode these are the objects that follow each other at the top; in `list` mode those in the array
 * `items` of the one object at the top, and {@link rest} is that object without them.
 */
export class JsonSplitter {
  readonly #onObject: (json: Buffer) => void;
  readonly #object = new ByteAccumulator();
  readonly #rest = new ByteAccumulator();
  readonly #mode: 'stream' | 'list';
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Depth around the objects that are wanted; -1 outside the array `items`. */
  #base: number;
  #key = '';
  #keyStart = 0;
  #taken = 0;

  /** The buffer handed to `onObject` is only valid during the call. */
  constructor(mode: 'stream' | 'list', onObject: (json: Buffer) => void) {
    this.#mode = mode;
    this.#base = mode === 'stream' ? 0 : -1;
    this.#onObject = onObject;
  }

  /** Throws DecodeError for what cannot be JSON of this mode, or an object above the limit. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) {
          this.#inString = false;
          if (this.#base < 0 && this.#depth === 1) {
            start = this.#keep(chunk, start, i + 1);
            this.#key = this.#rest.buffer.toString('latin1', this.#keyStart, this.#rest.end - 1);
          }
        }
        continue;
      }
      switch (byte) {
        case quote:
          if (this.#depth === this.#base) this.#fail(i);
          this.#inString = true;
          if (this.#base < 0 && this.#depth === 1) {
            start = this.#keep(chunk, start, i + 1);
            this.#keyStart = this.#rest.end;
          }
          break;
        case openBrace:
        case openBracket:
          if (this.#depth === this.#base && byte === openBracket) this.#fail(i);
          if (this.#depth === this.#base) start = i;
          this.#depth++;
          if (this.#base < 0 && this.#depth === 2 && byte === openBracket && this.#key === 'items') {
            start = this.#keep(chunk, start, i + 1);
            this.#base = 2;
          }
          break;
        case closeBrace:
        case closeBracket:
          this.#depth--;
          if (this.#depth < 0) this.#fail(i);
          if (this.#depth === this.#base) {
            this.#deliver(chunk.subarray(start, i + 1));
            start = i + 1;
          } else if (this.#depth < this.#base) {
            this.#base = -1;
            this.#key = '';
            start = i;
          }
          break;
        default:
          if (this.#depth === this.#base && !isBlank(byte) && !(byte === comma && this.#mode === 'list'))
            this.#fail(i);
      }
    }
    if (this.#depth > this.#base || this.#base < 0) this.#keep(chunk, start, chunk.length);
    this.#taken += chunk.length;
  }

  /** True when nothing is open. */
  complete(): boolean {
    return this.#depth === 0 && !this.#inString;
  }

  /** What surrounds the items in `list` mode, with an empty array in their place. */
  rest(): string {
    return this.#rest.buffer.toString('utf8', this.#rest.start, this.#rest.end);
  }

  /** Bytes seen; for errors. */
  get taken(): number {
    return this.#taken;
  }

  #deliver(last: Uint8Array): void {
    this.#append(this.#object, last);
    const { buffer, start, end } = this.#object;
    this.#object.take(end - start);
    this.#onObject(buffer.subarray(start, end));
  }

  /** Stores what is not yet complete; returns where the part that is still to be stored begins. */
  #keep(chunk: Uint8Array, start: number, end: number): number {
    this.#append(this.#base < 0 ? this.#rest : this.#object, chunk.subarray(start, end));
    return end;
  }

  #append(target: ByteAccumulator, bytes: Uint8Array): void {
    if (target.length + bytes.length > maxObjectBytes) {
      throw new DecodeError({
        code: 'DECODE_TOO_LARGE',
        offset: this.#taken,
        bytes: target.length + bytes.length,
        limit: maxObjectBytes,
      });
    }
    target.append(bytes);
  }

  #fail(index: number): never {
    throw new DecodeError({ code: 'DECODE_JSON_SYNTAX', offset: this.#taken + index });
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
