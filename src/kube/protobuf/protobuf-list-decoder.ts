import { ByteAccumulator } from '../byte-accumulator.ts';
import { DecodeError } from '../decode-error.ts';
import type { KindDecoder, KubeObject } from '../kind-decoder.ts';
import type { ListMeta } from '../list-meta.ts';
import { type ListDecoder, type ListHandler, maxObjectBytes } from '../stream-decoder.ts';
import { badProtobufObject } from './bad-object.ts';
import { decodeTypeMeta, magicLength, readMagic } from './decode-envelope.ts';
import { decodeListMeta } from './decode-list-meta.ts';
import { WireReader } from './wire-reader.ts';

/** Envelope fields that are not the list itself hold a few dozen bytes. */
const maxEnvelopeField = 64 * 1024;

/**
 * Decodes a list body: an envelope whose raw bytes are `{1: ListMeta, 2: items…}`. Only the item that is arriving is
 * held in memory, never the body.
 */
export class ProtobufListDecoder<T extends KubeObject> implements ListDecoder {
  readonly #decoder: KindDecoder<T>;
  readonly #handler: ListHandler<T>;
  readonly #pending = new ByteAccumulator();
  readonly #reader = new WireReader(Buffer.alloc(0));
  #field = 0;
  #stage: 'magic' | 'envelope' | 'list' = 'magic';
  /** Bytes of the list message that have not been taken yet; in stage `list` only. */
  #left = 0;
  #sawList = false;
  #type = { apiVersion: '', kind: '' };
  #meta: ListMeta = { resourceVersion: '', continue: '', remainingItemCount: undefined };

  constructor(decoder: KindDecoder<T>, handler: ListHandler<T>) {
    this.#decoder = decoder;
    this.#handler = handler;
  }

  push(chunk: Uint8Array): void {
    this.#pending.append(chunk);
    while (this.#pending.length > 0 && this.#step()) {}
  }

  end(): ListMeta {
    if (this.#stage !== 'envelope' || !this.#sawList || this.#pending.length > 0) {
      throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.#pending.taken + this.#pending.length });
    }
    this.#checkType();
    return this.#meta;
  }

  /** Takes one field; false when more bytes are needed. */
  #step(): boolean {
    const pending = this.#pending;
    const reader = this.#reader;
    if (this.#stage === 'magic') {
      if (pending.length < magicLength) return false;
      reader.reset(pending.buffer, pending.start, pending.end);
      readMagic(reader);
      pending.take(magicLength);
      this.#stage = 'envelope';
      return true;
    }
    const inList = this.#stage === 'list';
    const left = inList ? this.#left : Number.POSITIVE_INFINITY;
    reader.reset(pending.buffer, pending.start, Math.min(pending.end, pending.start + left));
    const size = this.#headerAndExtent(reader.limit - pending.start === left);
    if (size === undefined) return false;
    const start = reader.position;
    const field = this.#field;
    if (!inList && field === 2) {
      reader.expectMessage();
      if (this.#sawList)
        throw new DecodeError({ code: 'DECODE_UNEXPECTED_KIND', expected: 'one list', got: 'two' });
      this.#checkType();
      this.#sawList = true;
      pending.take(start - pending.start);
      this.#left = size;
      if (size > 0) this.#stage = 'list';
      return true;
    }
    const used = start - pending.start + size;
    if (used > left) throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: pending.taken + left });
    const limit = inList ? maxObjectBytes : maxEnvelopeField;
    if (size > limit)
      throw new DecodeError({ code: 'DECODE_TOO_LARGE', offset: pending.taken, bytes: size, limit });
    if (used > pending.length) return false;
    if (field === 1 || (inList && field === 2)) reader.expectMessage();
    reader.reset(pending.buffer, start, start + size);
    if (inList) this.#takeListField(field);
    else if (field === 1) this.#type = decodeTypeMeta(reader);
    pending.take(used);
    if (inList) {
      this.#left -= used;
      if (this.#left === 0) this.#stage = 'envelope';
    }
    return true;
  }

  /** The reader stands at the field's value and is limited to it. */
  #takeListField(field: number): void {
    const reader = this.#reader;
    if (field === 1) this.#meta = decodeListMeta(reader);
    if (field !== 2) return;
    const { bytes, position, limit } = reader;
    let object: T;
    try {
      object = this.#decoder.fromProtobuf(reader);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#handler.bad(badProtobufObject(this.#decoder.kind, bytes, position, limit, error));
      return;
    }
    this.#handler.item(object);
  }

  /**
   * Reads the next field's number into `#field`; returns the size of its content, which may not have arrived yet.
   * Undefined when tag or length have not; `complete` says that nothing more will come before the reader's limit.
   */
  #headerAndExtent(complete: boolean): number | undefined {
    try {
      this.#field = this.#reader.next();
      if (this.#field === 0) throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.#pending.taken });
      return this.#reader.extent();
    } catch (error) {
      if (!complete && error instanceof DecodeError && error.detail.code === 'DECODE_TRUNCATED')
        return undefined;
      throw error;
    }
  }

  #checkType(): void {
    const { kind, apiVersion } = this.#decoder;
    if (this.#type.kind === `${kind}List` && this.#type.apiVersion === apiVersion) return;
    throw new DecodeError({
      code: 'DECODE_UNEXPECTED_KIND',
      expected: `${apiVersion} ${kind}List`,
      got: `${this.#type.apiVersion} ${this.#type.kind}`,
    });
  }
}
