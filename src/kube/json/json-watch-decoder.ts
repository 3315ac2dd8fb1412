import { DecodeError } from '../decode-error.ts';
import type { KindDecoder, KubeObject } from '../kind-decoder.ts';
import type { WatchDecoder, WatchHandler } from '../stream-decoder.ts';
import type { WatchEvent } from '../watch-event.ts';
import { badJsonObject } from './bad-json-object.ts';
import { isJsonObject, type JsonObject, objectField, stringField } from './json-fields.ts';
import { JsonSplitter } from './json-splitter.ts';
import { parseJsonObject } from './parse-json-object.ts';
import { statusFromJson } from './status-from-json.ts';

/** Decodes `application/json;stream=watch`: one JSON object per event, usually one a line. */
export class JsonWatchDecoder<T extends KubeObject> implements WatchDecoder {
  readonly #splitter: JsonSplitter;

  constructor(decoder: KindDecoder<T>, handler: WatchHandler<T>) {
    this.#splitter = new JsonSplitter('stream', (bytes) =>
      handler(watchEventFromJson(decoder, parseJsonObject(bytes.toString('utf8')))),
    );
  }

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  end(): void {
    if (!this.#splitter.complete())
      throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.#splitter.taken });
  }
}

/** Reads a `metav1.WatchEvent` from its JSON form. Throws DecodeError, but not for a bad object in it. */
function watchEventFromJson<T extends KubeObject>(decoder: KindDecoder<T>, json: JsonObject): WatchEvent<T> {
  const type = stringField(json, 'type', '');
  const { object } = json;
  if (!isJsonObject(object))
    throw new DecodeError({ code: 'DECODE_JSON_TYPE', path: 'object', expected: 'object' });
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      expectKind(object, decoder.kind);
      try {
        return { type, object: decoder.fromJson(object) };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        const bad = badJsonObject(decoder.kind, object, error);
        return { type: 'BAD', bad, isDeletion: type === 'DELETED' };
      }
    case 'BOOKMARK': {
      expectKind(object, decoder.kind);
      const meta = objectField(object, 'metadata', 'object');
      const annotations = objectField(meta, 'annotations', 'object.metadata');
      return {
        type,
        resourceVersion: stringField(meta, 'resourceVersion', 'object.metadata'),
        initialEventsEnd: annotations['k8s.io/initial-events-end'] === 'true',
      };
    }
    case 'ERROR':
      expectKind(object, 'Status');
      return { type, status: statusFromJson(object) };
    default:
      throw new DecodeError({ code: 'DECODE_UNKNOWN_EVENT', type });
  }
}

function expectKind(object: JsonObject, expected: string): void {
  const kind = stringField(object, 'kind', 'object');
  if (kind !== expected) throw new DecodeError({ code: 'DECODE_UNEXPECTED_KIND', expected, got: kind });
}
