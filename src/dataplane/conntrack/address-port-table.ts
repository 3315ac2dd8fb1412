import { type IpFamily, ipBytes } from '../../base/ip.ts';

const EMPTY = -1;

/**
 * Maps addresses with ports of one family to whole numbers of 0 and more, in a few flat arrays: 16 bytes an entry for
 * IPv4, 28 for IPv6, and no object is made by a look-up. Made for looking up every flow of a large table.
 */
export class AddressPortTable {
  readonly #words: number;
  #keys: Uint32Array;
  #values: Int32Array;
  #mask: number;
  #size = 0;

  constructor(family: IpFamily, expected = 8) {
    this.#words = family === 'IPv4' ? 1 : 4;
    let capacity = 16;
    while (capacity < expected * 2) capacity *= 2;
    this.#mask = capacity - 1;
    this.#keys = new Uint32Array(capacity * (this.#words + 1));
    this.#values = new Int32Array(capacity).fill(EMPTY);
  }

  get size(): number {
    return this.#size;
  }

  /** Sets the value of an address (4 or 16 bytes in network order from `at`) and port. */
  set(bytes: Uint8Array, at: number, port: number, value: number): void {
    if ((this.#size + 1) * 2 > this.#values.length) this.#grow();
    const slot = this.#find(bytes, at, port);
    if (this.#values[slot] === EMPTY) {
      const key = slot * (this.#words + 1);
      for (let i = 0; i < this.#words; i++) this.#keys[key + i] = word(bytes, at + i * 4);
      this.#keys[key + this.#words] = port;
      this.#size++;
    }
    this.#values[slot] = value;
  }

  /** The value, or -1 when there is none. */
  get(bytes: Uint8Array, at: number, port: number): number {
    return this.#values[this.#find(bytes, at, port)]!;
  }

  /** {@link set} for an address as canonical text. Throws RangeError when it is none or of the other family. */
  setText(ip: string, port: number, value: number): void {
    this.set(this.#bytes(ip), 0, port, value);
  }

  /** {@link get} for an address as canonical text. */
  getText(ip: string, port: number): number {
    return this.get(this.#bytes(ip), 0, port);
  }

  #bytes(ip: string): Uint8Array {
    const bytes = ipBytes(ip);
    if (bytes.length !== this.#words * 4) throw new RangeError(`${ip} is of the other address family`);
    return bytes;
  }

  /** The slot of a key, or the free one where it belongs. At least half of the slots are free, so the search ends. */
  #find(bytes: Uint8Array, at: number, port: number): number {
    let hash = Math.imul(port ^ 0x9e37_79b9, 0x85eb_ca6b);
    for (let i = 0; i < this.#words; i++) hash = mix(hash ^ word(bytes, at + i * 4));
    let slot = hash & this.#mask;
    while (this.#values[slot] !== EMPTY && !this.#isAt(slot, bytes, at, port)) slot = (slot + 1) & this.#mask;
    return slot;
  }

  #isAt(slot: number, bytes: Uint8Array, at: number, port: number): boolean {
    const key = slot * (this.#words + 1);
    if (this.#keys[key + this.#words] !== port) return false;
    for (let i = 0; i < this.#words; i++) {
      if (this.#keys[key + i] !== word(bytes, at + i * 4)) return false;
    }
    return true;
  }

  #grow(): void {
    const [keys, values, stride] = [this.#keys, this.#values, this.#words + 1];
    const capacity = values.length * 2;
    this.#mask = capacity - 1;
    this.#keys = new Uint32Array(capacity * stride);
    this.#values = new Int32Array(capacity).fill(EMPTY);
    this.#size = 0;
    const address = new Uint8Array(this.#words * 4);
    const view = new DataView(address.buffer);
    for (const [slot, value] of values.entries()) {
      if (value === EMPTY) continue;
      const key = slot * stride;
      for (let i = 0; i < this.#words; i++) view.setUint32(i * 4, keys[key + i]!);
      this.set(address, 0, keys[key + this.#words]!, value);
    }
  }
}

/** 32 bits in network order, as an unsigned number. */
function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x7feb_352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846c_a68b);
  return hash ^ (hash >>> 16);
}
