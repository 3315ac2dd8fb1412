import { asciiString, utf8String } from './utf8-string.ts';

const maxLength = 63;
const maxStrings = 16_384;

/**
 * Gives equal short strings one identity: node names, zones, port names and the like repeat in a hundred thousand
 * endpoints and would cost more than everything else there. ASCII only and bounded: a full table starts anew, so that
 * names of nodes long gone do not stay.
 */
export class StringTable {
  #size = 0;
  #slots: (string | undefined)[] = new Array<string | undefined>(1024).fill(undefined);
  #singles = new Map<string, readonly string[]>();

  /** The string of these bytes; long or non-ASCII ones are decoded and not kept. */
  fromBytes(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > maxLength) return utf8String(bytes, start, end);
    let hash = length;
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (byte > 0x7f) return utf8String(bytes, start, end);
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const known = this.#slots[slot];
      if (known === undefined) break;
      if (known.length === length && equalsBytes(known, bytes, start)) return known;
      slot = (slot + 1) & mask;
    }
    const text = asciiString(bytes, start, end);
    this.#slots[slot] = text;
    if (++this.#size > this.#slots.length / 2) this.#grow();
    return text;
  }

  /** The table's own copy of a string. */
  fromString(text: string): string {
    const length = text.length;
    if (length === 0 || length > maxLength) return text;
    let hash = length;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return text;
      hash = Math.imul(hash ^ code, 0x01000193);
    }
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const known = this.#slots[slot];
      if (known === undefined) break;
      if (known === text) return known;
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = text;
    if (++this.#size > this.#slots.length / 2) this.#grow();
    return text;
  }

  /** One shared list that holds just this string; for hints, of which most endpoints have exactly one. */
  single(text: string): readonly string[] {
    const known = this.#singles.get(text);
    if (known !== undefined) return known;
    if (this.#singles.size >= maxStrings) this.#singles.clear();
    const list = [text];
    this.#singles.set(text, list);
    return list;
  }

  #grow(): void {
    const kept = this.#size >= maxStrings ? [] : this.#slots.filter((text) => text !== undefined);
    this.#slots = new Array<string | undefined>(kept.length === 0 ? 1024 : this.#slots.length * 2).fill(
      undefined,
    );
    this.#size = 0;
    for (const text of kept) this.fromString(text);
  }
}

function equalsBytes(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** The table that all decoders of this process share. Losing it costs memory, never correctness. */
export const strings = new StringTable();
