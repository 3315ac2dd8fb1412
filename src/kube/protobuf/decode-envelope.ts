import { DecodeError } from '../decode-error.ts';
import { WireReader } from './wire-reader.ts';

/** A `runtime.Unknown`: an object with its type, as each protobuf body of the API holds it. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** Reads the object itself. */
  readonly raw: WireReader;
}

const magic = [0x6b, 0x38, 0x73, 0x00] as const; // "k8s\0"
export const magicLength: number = magic.length;

/** Reads the envelope between the reader's position and limit. Throws DecodeError. */
export function decodeEnvelope(reader: WireReader): Envelope {
  readMagic(reader);
  let apiVersion = '';
  let kind = '';
  let raw = new WireReader(reader.bytes, reader.limit, reader.limit);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1: {
        const outer = reader.enter();
        const type = decodeTypeMeta(reader);
        reader.leave(outer);
        apiVersion = type.apiVersion;
        kind = type.kind;
        break;
      }
      case 2: {
        const outer = reader.enter();
        raw = new WireReader(reader.bytes, reader.position, reader.limit);
        reader.leave(outer);
        break;
      }
      default:
        reader.skip();
    }
  }
  return { apiVersion, kind, raw };
}

/** Passes over the four bytes that start every envelope. Throws DecodeError when they are others. */
export function readMagic(reader: WireReader): void {
  for (const byte of magic) {
    if (reader.position >= reader.limit || reader.bytes[reader.position] !== byte) {
      throw new DecodeError({ code: 'DECODE_NO_MAGIC', offset: reader.position });
    }
    reader.position++;
  }
}

/** Reads a `runtime.TypeMeta` message up to the reader's limit. */
export function decodeTypeMeta(reader: WireReader): { readonly apiVersion: string; readonly kind: string } {
  const type = { apiVersion: '', kind: '' };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        type.apiVersion = reader.sharedString();
        break;
      case 2:
        type.kind = reader.sharedString();
        break;
      default:
        reader.skip();
    }
  }
  return type;
}
