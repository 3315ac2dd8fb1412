import { ipBytes } from '../../base/ip.ts';
import { writeHostU32 } from '../netlink/byte-order.ts';
import { layoutLength, layoutTypes } from './layout.ts';
import { invalidValue } from './nftables-error.ts';
import type { NftMap, NftSet } from './objects.ts';
import type { Verdict } from './verdict.ts';

/** Packets and bytes an element counted. */
export interface Counter {
  readonly packets: bigint;
  readonly bytes: bigint;
}

/**
 * Many elements of one set in the kernel's register layout: rows of equal length in one growing buffer, each the key
 * and, for maps with data, the data. Fields of concatenations are padded with zeros to 4 bytes.
 *
 * Rows are filled in order, field after field:
 *
 * ```ts
 * const rows = PackedElements.for(endpoints, 2);
 * rows.begin().address('10.96.0.1').protocol(6).port(80).number(0).address('10.0.0.1').port(8080);
 * rows.begin().address('10.96.0.1').protocol(6).port(80).number(1).address('10.0.0.2').port(8080);
 * ```
 *
 * What few rows have (verdicts, comments, timeouts, counters) is kept in columns that exist only when used.
 */
export class PackedElements {
  readonly keyLength: number;
  readonly dataLength: number;
  /** Bytes from one row to the next; a multiple of 4. */
  readonly rowLength: number;
  /** Offset of the data in a row. */
  readonly dataOffset: number;
  /** The rows; replaced when it grows. Only the first `count * rowLength` bytes count. */
  bytes: Buffer;
  count = 0;
  verdicts: Verdict[] | undefined;
  comments: (string | undefined)[] | undefined;
  /** Life time of each row in milliseconds; the kernel leaves it out where it is the set's own. */
  timeoutsMs: (number | undefined)[] | undefined;
  /** Milliseconds each row has left. */
  expirationsMs: (number | undefined)[] | undefined;
  counters: (Counter | undefined)[] | undefined;
  /** Kernel flags: 1 marks the row as the end of the interval before it. */
  flags: number[] | undefined;
  readonly #dataStart: number;
  #at = 0;
  #keyFieldPadding: boolean;
  readonly #dataFieldPadding: boolean;

  /** `keyFields` and `dataFields` above 1 make every field padded to 4 bytes. */
  constructor(keyLength: number, dataLength: number, capacity = 16, keyFields = 1, dataFields = 1) {
    this.keyLength = keyLength;
    this.dataLength = dataLength;
    this.#dataStart = (keyLength + 3) & ~3;
    this.dataOffset = this.#dataStart;
    this.rowLength = this.#dataStart + ((dataLength + 3) & ~3);
    this.bytes = Buffer.alloc(Math.max(1, capacity) * this.rowLength);
    this.#keyFieldPadding = keyFields > 1;
    this.#dataFieldPadding = dataFields > 1;
  }

  /** Rows that fit a set or map. */
  static for(of: NftSet | NftMap, capacity = 16): PackedElements {
    const key = layoutTypes(of.key);
    const data = of.kind === 'map' && of.data !== 'verdict' ? layoutTypes(of.data) : [];
    return new PackedElements(
      layoutLength(key),
      data.length === 0 ? 0 : layoutLength(data),
      capacity,
      key.length,
      data.length,
    );
  }

  /** Adds a row of zeros and puts the cursor on its first field. */
  begin(): this {
    const start = this.count * this.rowLength;
    if (start + this.rowLength > this.bytes.length) {
      const larger = Buffer.alloc(
        Math.ceil((this.bytes.length * 3) / 2 / this.rowLength + 1) * this.rowLength,
      );
      this.bytes.copy(larger, 0, 0, start);
      this.bytes = larger;
    }
    this.count++;
    this.#at = start;
    return this;
  }

  /** Writes an address field: canonical text or its 4 or 16 bytes. */
  address(address: string | Uint8Array): this {
    if (typeof address !== 'string') {
      this.bytes.set(address, this.#at);
      return this.#advance(address.length);
    }
    if (!writeIpv4(address, this.bytes, this.#at)) return this.address(ipBytes(address));
    return this.#advance(4);
  }

  /** Writes a transport protocol: 6 for TCP, 17 for UDP, 132 for SCTP. */
  protocol(protocol: number): this {
    this.bytes[this.#at] = protocol;
    return this.#advance(1);
  }

  /** Writes a port in network order. */
  port(port: number): this {
    this.bytes[this.#at] = port >> 8;
    this.bytes[this.#at + 1] = port & 0xff;
    return this.#advance(2);
  }

  /** Writes 32 bits in host order: a `numgen` index or a mark. */
  number(value: number): this {
    writeHostU32(this.bytes, value, this.#at);
    return this.#advance(4);
  }

  /** Verdict of the row begun last. */
  verdict(verdict: Verdict): this {
    this.verdicts ??= [];
    this.verdicts[this.count - 1] = verdict;
    return this;
  }

  /** Comment of the row begun last. */
  comment(text: string): this {
    this.comments ??= [];
    this.comments[this.count - 1] = text;
    return this;
  }

  /** Life time of the row begun last, and what is left of it (default: all of it). Rounded up to milliseconds. */
  timeout(timeoutMs: number, expirationMs?: number): this {
    this.timeoutsMs ??= [];
    this.timeoutsMs[this.count - 1] = Math.ceil(timeoutMs);
    if (expirationMs !== undefined) {
      this.expirationsMs ??= [];
      this.expirationsMs[this.count - 1] = Math.ceil(expirationMs);
    }
    return this;
  }

  /** The key of a row, as a view. */
  key(row: number): Buffer {
    const start = row * this.rowLength;
    return this.bytes.subarray(start, start + this.keyLength);
  }

  /** The data of a row, as a view; empty for sets and verdict maps. */
  data(row: number): Buffer {
    const start = row * this.rowLength + this.#dataStart;
    return this.bytes.subarray(start, start + this.dataLength);
  }

  /** Appends a copy of another list's row, columns included. Both must have the same layout. */
  append(from: PackedElements, row: number): this {
    if (from.keyLength !== this.keyLength || from.dataLength !== this.dataLength) {
      throw invalidValue('elements', `${from.keyLength}:${from.dataLength}`, 'a row of the same layout');
    }
    this.begin();
    from.bytes.copy(this.bytes, this.#at, row * from.rowLength, (row + 1) * from.rowLength);
    const at = this.count - 1;
    if (from.verdicts?.[row] !== undefined) this.verdict(from.verdicts[row]);
    if (from.comments?.[row] !== undefined) this.comment(from.comments[row]);
    if (from.timeoutsMs?.[row] !== undefined) {
      this.timeoutsMs ??= [];
      this.timeoutsMs[at] = from.timeoutsMs[row];
    }
    if (from.expirationsMs?.[row] !== undefined) {
      this.expirationsMs ??= [];
      this.expirationsMs[at] = from.expirationsMs[row];
    }
    if (from.counters?.[row] !== undefined) {
      this.counters ??= [];
      this.counters[at] = from.counters[row];
    }
    if (from.flags?.[row] !== undefined) {
      this.flags ??= [];
      this.flags[at] = from.flags[row];
    }
    return this;
  }

  /** Bytes that identify a row's key, as text for use in a Map. */
  keyText(row: number): string {
    const start = row * this.rowLength;
    return this.bytes.toString('latin1', start, start + this.keyLength);
  }

  #advance(length: number): this {
    const inRow = this.#at - (this.count - 1) * this.rowLength;
    const inKey = inRow < this.#dataStart;
    const padded = (inKey ? this.#keyFieldPadding : this.#dataFieldPadding) ? (length + 3) & ~3 : length;
    const next = inRow + padded;
    // Past a single unpadded key the cursor moves on to the data.
    this.#at += inKey && next >= this.keyLength ? this.#dataStart - inRow : padded;
    return this;
  }
}

/** Writes a dotted quad without making garbage; false when the text is none. */
function writeIpv4(text: string, into: Buffer, at: number): boolean {
  if (text.length > 15) return false;
  let octet = 0;
  let index = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 46) {
      into[at + index++] = octet;
      octet = 0;
    } else if (code < 48 || code > 57) return false;
    else octet = octet * 10 + code - 48;
  }
  into[at + index] = octet;
  return index === 3;
}
