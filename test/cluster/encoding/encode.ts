import { type EncodableKind, kindShapes, listMeta } from './kind-shapes.ts';
import type { FieldShape, FieldType } from './message-shape.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

type Json = Record<string, unknown>;

/** What a list carries beside its items. */
export interface ListOptions {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

const magic = Buffer.from('k8s\0', 'latin1');

/**
 * A Kubernetes JSON object as kube-apiserver 1.36 encodes it in protobuf, envelope included. Fields of the JSON that
 * the shapes of kind-shapes.ts do not know are left out.
 */
export function encodeObject(kind: EncodableKind, jsonObject: object): Buffer {
  const { apiVersion, fields } = kindShapes[kind];
  return envelope(apiVersion, kind, (writer) => writeMessage(writer, fields, jsonObject as Json));
}

/** A list body: `<kind>List` with these items, envelope included. */
export function encodeList(
  kind: Exclude<EncodableKind, 'Status'>,
  jsonObjects: readonly object[],
  options: ListOptions = {},
): Buffer {
  const { apiVersion, fields } = kindShapes[kind];
  return envelope(apiVersion, `${kind}List`, (writer) => {
    writer.message(1, () => writeMessage(writer, listMeta, options as Json));
    for (const item of jsonObjects) writer.message(2, () => writeMessage(writer, fields, item as Json));
  });
}

/**
 * One frame of a watch stream, its 4-byte length included. Unlike objects and lists the WatchEvent itself has no
 * envelope; only the object inside it has (see test/recordings/apiserver).
 */
export function encodeWatchEvent(type: WatchEventType, kind: EncodableKind, jsonObject: object): Buffer {
  const writer = new ProtobufWriter();
  writer.string(1, type);
  writer.message(2, () => writer.bytes(1, encodeObject(kind, jsonObject)));
  const event = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function envelope(apiVersion: string, kind: string, write: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter();
  writer.raw(magic);
  writer.message(1, () => {
    writer.string(1, apiVersion);
    writer.string(2, kind);
  });
  writer.message(2, () => write(writer));
  writer.string(3, '');
  writer.string(4, '');
  return writer.finish();
}

function writeMessage(writer: ProtobufWriter, fields: readonly FieldShape[], json: Json): void {
  for (const field of fields) {
    const value = json[field.name] ?? undefined;
    switch (field.presence) {
      case 'always':
        writeField(writer, field.number, field.type, value);
        break;
      case 'optional':
        if (value !== undefined) writeField(writer, field.number, field.type, value);
        break;
      case 'repeated':
        writeRepeated(writer, field, value);
        break;
    }
  }
}

function writeRepeated(writer: ProtobufWriter, field: FieldShape, value: unknown): void {
  if (value === undefined) return;
  if (field.type !== 'stringMap' && field.type !== 'quantityMap') {
    for (const element of value as unknown[]) writeField(writer, field.number, field.type, element);
    return;
  }
  // Go writes map entries in the order of their keys.
  for (const [key, text] of Object.entries(value as Record<string, string>).sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    writer.message(field.number, () => {
      writer.string(1, key);
      writeField(writer, 2, field.type === 'stringMap' ? 'string' : 'quantity', text);
    });
  }
}

function writeField(writer: ProtobufWriter, number: number, type: FieldType, value: unknown): void {
  switch (type) {
    case 'string':
      writer.string(number, (value ?? '') as string);
      break;
    case 'bool':
      writer.int(number, value === true ? 1 : 0);
      break;
    case 'int':
      writer.int(number, (value ?? 0) as number);
      break;
    case 'time':
      writer.message(number, () => {
        if (value === undefined) return;
        writer.int(1, Math.floor(Date.parse(value as string) / 1000));
        writer.int(2, 0);
      });
      break;
    case 'intOrString':
      writer.message(number, () => {
        writer.int(1, typeof value === 'string' ? 1 : 0);
        writer.int(2, typeof value === 'number' ? value : 0);
        writer.string(3, typeof value === 'string' ? value : '');
      });
      break;
    case 'fieldsV1':
      writer.message(number, () => writer.string(1, JSON.stringify(value)));
      break;
    case 'quantity':
      writer.message(number, () => writer.string(1, value as string));
      break;
    case 'stringMap':
    case 'quantityMap':
      throw new TypeError('a map is a repeated field');
    default:
      writer.message(number, () => writeMessage(writer, type, (value ?? {}) as Json));
  }
}
