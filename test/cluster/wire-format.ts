import { encodeList, encodeObject, encodeWatchEvent, type ListOptions } from './encoding/encode.ts';
import { lengthDelimited, splitEnvelope } from './envelope.ts';
import type { Resource } from './resources.ts';
import type { StatusBody } from './status.ts';
import type { StoredObject } from './stored-object.ts';

export type WatchType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How answers are written: JSON or protobuf. Every function returns buffers ready for the socket. */
export interface WireFormat {
  readonly name: 'json' | 'protobuf';
  readonly contentType: string;
  readonly watchContentType: string;
  object(stored: StoredObject): Buffer;
  list(resource: Resource, metadata: ListOptions, items: readonly StoredObject[]): Buffer;
  watchEvent(type: WatchType, stored: StoredObject): Buffer;
  bookmark(resource: Resource, resourceVersion: number, initialEventsEnd: boolean): Buffer;
  status(status: StatusBody): Buffer;
  errorEvent(status: StatusBody): Buffer;
}

const newline = Buffer.from('\n');

export const jsonFormat: WireFormat = {
  name: 'json',
  contentType: 'application/json',
  watchContentType: 'application/json',
  object: (stored) => Buffer.concat([stored.jsonObject(), newline]),
  list(resource, metadata, items) {
    const { kind, apiVersion } = resource;
    const head = `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
    const parts: Buffer[] = [Buffer.from(head)];
    const comma = Buffer.from(',');
    for (const [i, item] of items.entries()) {
      if (i > 0) parts.push(comma);
      parts.push(item.jsonItem());
    }
    parts.push(Buffer.from(']}\n'));
    return Buffer.concat(parts);
  },
  watchEvent: (type, stored) =>
    Buffer.concat([Buffer.from(`{"type":"${type}","object":`), stored.jsonObject(), Buffer.from('}\n')]),
  bookmark(resource, resourceVersion, initialEventsEnd) {
    const { kind, apiVersion } = resource;
    const object = { kind, apiVersion, ...bookmarkObject(resource, resourceVersion, initialEventsEnd) };
    return Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  },
  status: (status) => Buffer.from(`${JSON.stringify(status)}\n`),
  errorEvent: (status) => Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`),
};

/** End of every envelope: empty contentEncoding and contentType. */
const envelopeEnd = Buffer.from([0x1a, 0x00, 0x22, 0x00]);

export const protobufFormat: WireFormat = {
  name: 'protobuf',
  contentType: 'application/vnd.kubernetes.protobuf',
  watchContentType: 'application/vnd.kubernetes.protobuf;stream=watch',
  object: (stored) => stored.protobufObject(),
  list(resource, metadata, items) {
    const empty = splitEnvelope(encodeList(resource.kind, [], metadata));
    const parts = [empty.raw, ...items.map((item) => item.protobufItem())];
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return Buffer.concat([empty.head, lengthDelimited(2, length), ...parts, envelopeEnd]);
  },
  watchEvent(type, stored) {
    const object = stored.protobufObject();
    const typeField = Buffer.concat([lengthDelimited(1, type.length), Buffer.from(type)]);
    const raw = lengthDelimited(1, object.length);
    const extension = lengthDelimited(2, raw.length + object.length);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(typeField.length + extension.length + raw.length + object.length);
    return Buffer.concat([length, typeField, extension, raw, object]);
  },
  bookmark: (resource, resourceVersion, initialEventsEnd) =>
    encodeWatchEvent('BOOKMARK', resource.kind, bookmarkObject(resource, resourceVersion, initialEventsEnd)),
  status: (status) => encodeObject('Status', status),
  errorEvent: (status) => encodeWatchEvent('ERROR', 'Status', status),
};

function bookmarkObject(resource: Resource, resourceVersion: number, initialEventsEnd: boolean): object {
  const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return { metadata: { resourceVersion: String(resourceVersion), ...annotations }, ...resource.emptyBody };
}
