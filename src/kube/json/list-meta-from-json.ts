import type { ListMeta } from '../list-meta.ts';
import { type JsonObject, objectField, optionalInt, stringField } from './json-fields.ts';

/** Reads `metadata` of a list from its JSON form. Throws DecodeError. */
export function listMetaFromJson(json: JsonObject): ListMeta {
  const meta = objectField(json, 'metadata', '');
  return {
    resourceVersion: stringField(meta, 'resourceVersion', 'metadata'),
    continue: stringField(meta, 'continue', 'metadata'),
    remainingItemCount: optionalInt(meta, 'remainingItemCount', 'metadata'),
  };
}
