import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonListDecoder } from '../json/json-list-decoder.ts';
import { JsonWatchDecoder } from '../json/json-watch-decoder.ts';
import type { KindDecoder, KubeObject } from '../kind-decoder.ts';
import type { ListMeta } from '../list-meta.ts';
import { ProtobufListDecoder } from '../protobuf/protobuf-list-decoder.ts';
import { ProtobufWatchDecoder } from '../protobuf/protobuf-watch-decoder.ts';
import type { BadObject, WatchEvent } from '../watch-event.ts';

const directory = join(import.meta.dirname, '../../../test/recordings/apiserver');

/** Bytes of an answer that a real API server gave; see the README beside them. */
export function recording(file: string): Buffer {
  return readFileSync(join(directory, file));
}

export type Encoding = 'json' | 'pb';

export interface DecodedList<T> {
  readonly items: T[];
  readonly bad: BadObject[];
  readonly meta: ListMeta;
}

/** Decodes a list body handed over in pieces of this many bytes. */
export function decodeList<T extends KubeObject>(
  kind: KindDecoder<T>,
  encoding: Encoding,
  body: Buffer,
  pieceBytes: number = body.length,
): DecodedList<T> {
  const items: T[] = [];
  const bad: BadObject[] = [];
  const handler = { item: (object: T) => items.push(object), bad: (object: BadObject) => bad.push(object) };
  const decoder =
    encoding === 'pb' ? new ProtobufListDecoder(kind, handler) : new JsonListDecoder(kind, handler);
  for (let at = 0; at < body.length; at += pieceBytes) decoder.push(body.subarray(at, at + pieceBytes));
  return { items, bad, meta: decoder.end() };
}

/** Decodes a watch stream handed over in pieces of this many bytes. */
export function decodeWatch<T extends KubeObject>(
  kind: KindDecoder<T>,
  encoding: Encoding,
  stream: Buffer,
  pieceBytes: number = stream.length,
): WatchEvent<T>[] {
  const events: WatchEvent<T>[] = [];
  const handler = (event: WatchEvent<T>) => events.push(event);
  const decoder =
    encoding === 'pb' ? new ProtobufWatchDecoder(kind, handler) : new JsonWatchDecoder(kind, handler);
  for (let at = 0; at < stream.length; at += pieceBytes) decoder.push(stream.subarray(at, at + pieceBytes));
  decoder.end();
  return events;
}
