import { readHostU32, writeHostU32 } from '../netlink/byte-order.ts';

/**
 * nft's user data: a list of one byte type, one byte length, value, without padding (libnftnl udata). The kernel
 * stores it unread, at most 256 bytes.
 */
export class TlvWriter {
  readonly #parts: Buffer[] = [];

  /** 32 bits in host order. */
  u32(type: number, value: number): this {
    const data = Buffer.alloc(4);
    writeHostU32(data, value, 0);
    return this.bytes(type, data);
  }

  /** Text with its terminating zero. */
  text(type: number, value: string): this {
    return this.bytes(type, Buffer.from(`${value}\0`));
  }

  /** Throws RangeError above 255 bytes. */
  bytes(type: number, value: Uint8Array): this {
    if (value.length > 255) throw new RangeError(`user data of ${value.length} bytes`);
    this.#parts.push(Buffer.from([type, value.length]), Buffer.from(value));
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads a list of {@link TlvWriter}; `undefined` when it is cut off. Values are views. */
export function decodeTlvs(data: Buffer): Map<number, Buffer> | undefined {
  const tlvs = new Map<number, Buffer>();
  let at = 0;
  while (at + 2 <= data.length) {
    const end = at + 2 + data[at + 1]!;
    if (end > data.length) return undefined;
    tlvs.set(data[at]!, data.subarray(at + 2, end));
    at = end;
  }
  return tlvs;
}

/** A number in host order. */
export function tlvU32(tlvs: ReadonlyMap<number, Buffer>, type: number): number | undefined {
  const value = tlvs.get(type);
  return value?.length === 4 ? readHostU32(value, 0) : undefined;
}

/** Text up to its terminating zero. */
export function tlvText(tlvs: ReadonlyMap<number, Buffer>, type: number): string | undefined {
  const value = tlvs.get(type);
  if (value === undefined) return undefined;
  const end = value.indexOf(0);
  return value.toString('utf8', 0, end < 0 ? value.length : end);
}
