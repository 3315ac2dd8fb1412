import { DecodeError } from '../decode-error.ts';
import type { KindDecoder, KubeObject } from '../kind-decoder.ts';
import type { ListMeta } from '../list-meta.ts';
import type { ListDecoder, ListHandler } from '../stream-decoder.ts';
import { badJsonObject } from './bad-json-object.ts';
import { type JsonObject, stringField } from './json-fields.ts';
import { JsonSplitter } from './json-splitter.ts';
import { listMetaFromJson } from './list-meta-from-json.ts';
import { parseJsonObject } from './parse-json-object.ts';

/** Decodes a JSON list body, one item at a time. */
export class JsonListDecoder<T extends KubeObject> implements ListDecoder {
  readonly #decoder: KindDecoder<T>;
  readonly #handler: ListHandler<T>;
  readonly #splitter: JsonSplitter;

  constructor(decoder: KindDecoder<T>, handler: ListHandler<T>) {
    this.#decoder = decoder;
    this.#handler = handler;
    this.#splitter = new JsonSplitter('list', (json) => this.#item(json));
  }

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  end(): ListMeta {
    if (!this.#splitter.complete()) {
      throw new DecodeError({ code: 'DECODE_TRUNCATED', offset: this.#splitter.taken });
    }
    const list = parseJsonObject(this.#splitter.rest());
    const kind = stringField(list, 'kind', '');
    const expected = `${this.#decoder.kind}List`;
    if (kind !== expected) throw new DecodeError({ code: 'DECODE_UNEXPECTED_KIND', expected, got: kind });
    return listMetaFromJson(list);
  }

  #item(bytes: Buffer): void {
    let json: JsonObject | undefined;
    let object: T;
    try {
      json = parseJsonObject(bytes.toString('utf8'));
      object = this.#decoder.fromJson(json);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#handler.bad(badJsonObject(this.#decoder.kind, json, error));
      return;
    }
    this.#handler.item(object);
  }
}
