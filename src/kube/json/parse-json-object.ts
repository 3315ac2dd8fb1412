import { DecodeError } from '../decode-error.ts';
import { isJsonObject, type JsonObject } from './json-fields.ts';

/** `JSON.parse` for an object. Throws DecodeError for all else. */
export function parseJsonObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DecodeError({ code: 'DECODE_JSON_SYNTAX', offset: 0 }, { cause });
  }
  if (!isJsonObject(value)) throw new DecodeError({ code: 'DECODE_JSON_TYPE', path: '', expected: 'object' });
  return value;
}
