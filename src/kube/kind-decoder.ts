import type { JsonObject } from './json/json-fields.ts';
import type { WireReader } from './protobuf/wire-reader.ts';

/** What all objects have that a list or watch delivers. */
export interface KubeObject {
  readonly namespace?: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/** How the objects of one kind are read, in both encodings. Both throw DecodeError and give equal objects. */
export interface KindDecoder<T extends KubeObject> {
  readonly kind: string;
  readonly apiVersion: string;
  /** Reads the message between the reader's position and its limit. */
  readonly fromProtobuf: (reader: WireReader) => T;
  readonly fromJson: (json: JsonObject) => T;
}

/** `namespace/name`, or just the name of an object that has no namespace. */
export function objectKey(object: { readonly namespace?: string; readonly name: string }): string {
  return object.namespace === undefined || object.namespace === ''
    ? object.name
    : `${object.namespace}/${object.name}`;
}
