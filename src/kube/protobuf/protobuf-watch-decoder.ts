import { ByteAccumulator } from '../byte-accumulator.ts';
import { DecodeError } from '../decode-error.ts';
import type { KindDecoder, KubeObject } from '../kind-decoder.ts';
import { maxObjectBytes, type WatchDecoder, type WatchHandler } from '../stream-decoder.ts';
import type { WatchEvent } from '../watch-event.ts';
import { badProtobufObject } from './bad-object.ts';
import { decodeEnvelope, type Envelope } from './decode-envelope.ts';
import { decodeObjectMeta } from './decode-object-meta.ts';
import { decodeStatus } from './decode-status.ts';
import { WireReader } from './wire-reader.ts';

const initialEventsEnd = 'k8s.io/initial-events-end';

/**
 * Decodes `application/vnd.kubernetes.protobuf;stream=watch`: frames of a 4-byte big-endian length and a WatchEvent
 * `{1: type, 2: {1: object in its envelope}}`. The event itself has no envelope.
 */
export class ProtobufWatchDecoder<T extends KubeObject> implements WatchDecoder {
  readonly #decoder: KindDecoder<T>;
  readonly #handler: WatchHandler<T>;
  readonly #pending = new ByteAccumulator();

  constructor(decoder: KindDecoder<T>, handler: WatchHandler<T>) {
    this.#decoder = decoder;
    this.#handler = handler;
  }

  push(chunk: Uint8Array): void {
    const pending = this.#pending;
    pending.append(chunk);
    while (pending.length >= 4) {
      const length = pending.buffer.readUInt32BE(pending.start);
      if (length > maxObjectBytes) {
        throw new DecodeError({
          code: 'DECODE_TOO_LARGE',
          offset: pending.taken,
          bytes: length,
          limit: maxObjectBytes,
        });
      }
      if (pending.length < 4 + length) return;
      const start = pending.start + 4;
      const event = this.#decode(new WireReader(pending.buffer, start, start + length));
      pending.take(4 + length);
      this.#handler(event);
    }
  }

  /** DECODE_TRUNCATED is for a stream that was cut; going on from there would not help with a frame like this. */
  #decode(frame: WireReader): WatchEvent<T> {
    try {
      return decodeWatchEvent(this.#decoder, frame);
    } catch (error) {
      if (!(error instanceof DecodeError) || error.detail.code !== 'DECODE_TRUNCATED') throw error;
      throw new DecodeError({ code: 'DECODE_BAD_FRAME', offset: this.#pending.taken }, { cause: error });
    }
  }

  end(): void {
    if (this.#pending.length === 0) return;
    throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.#pending.taken + this.#pending.length });
  }
}

/** Reads a `metav1.WatchEvent` message up to the reader's limit. Throws DecodeError, but not for a bad object in it. */
function decodeWatchEvent<T extends KubeObject>(decoder: KindDecoder<T>, reader: WireReader): WatchEvent<T> {
  let type = '';
  let object: Envelope | undefined;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        type = reader.sharedString();
        break;
      case 2: {
        const extension = reader.enter();
        for (let field = reader.next(); field !== 0; field = reader.next()) {
          if (field !== 1) {
            reader.skip();
            continue;
          }
          const raw = reader.enter();
          object = decodeEnvelope(reader);
          reader.leave(raw);
        }
        reader.leave(extension);
        break;
      }
      default:
        reader.skip();
    }
  }
  if (object === undefined)
    throw new DecodeError({ code: 'DECODE_UNEXPECTED_KIND', expected: decoder.kind, got: 'none' });
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return decodeObjectEvent(decoder, type, object);
    case 'BOOKMARK':
      expectType(object, decoder.apiVersion, decoder.kind);
      return decodeBookmark(object.raw);
    case 'ERROR':
      expectType(object, 'v1', 'Status');
      return { type, status: decodeStatus(object.raw) };
    default:
      throw new DecodeError({ code: 'DECODE_UNKNOWN_EVENT', type });
  }
}

function decodeObjectEvent<T extends KubeObject>(
  decoder: KindDecoder<T>,
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  envelope: Envelope,
): WatchEvent<T> {
  expectType(envelope, decoder.apiVersion, decoder.kind);
  const { bytes, position, limit } = envelope.raw;
  try {
    return { type, object: decoder.fromProtobuf(envelope.raw) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const bad = badProtobufObject(decoder.kind, bytes, position, limit, error);
    return { type: 'BAD', bad, isDeletion: type === 'DELETED' };
  }
}

/** A bookmark is an object of the watched kind with nothing but a version and, once, an annotation. */
function decodeBookmark<T>(raw: WireReader): WatchEvent<T> {
  let resourceVersion = '';
  let isEnd = false;
  for (let field = raw.next(); field !== 0; field = raw.next()) {
    if (field !== 1) {
      raw.skip();
      continue;
    }
    const meta = decodeObjectMeta(raw, { annotation: initialEventsEnd });
    resourceVersion = meta.resourceVersion;
    isEnd = meta.annotation === 'true';
  }
  return { type: 'BOOKMARK', resourceVersion, initialEventsEnd: isEnd };
}

function expectType(envelope: Envelope, apiVersion: string, kind: string): void {
  if (envelope.kind === kind && envelope.apiVersion === apiVersion) return;
  throw new DecodeError({
    code: 'DECODE_UNEXPECTED_KIND',
    expected: `${apiVersion} ${kind}`,
    got: `${envelope.apiVersion} ${envelope.kind}`,
  });
}
