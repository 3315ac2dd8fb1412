import { DecodeError } from '../decode-error.ts';
import { noHints } from '../endpoint-slice.ts';

/** A JSON object as parsed, nothing checked yet. */
export type JsonObject = { readonly [key: string]: unknown };

// Readers of one field each. `null` counts as absent, as in Go's decoder; another type than the API defines throws
// DecodeError with the path of the field.

/** An absent string is `''`. */
export function stringField(json: JsonObject, name: string, path: string): string {
  return optionalString(json, name, path) ?? '';
}

/** An absent string is `undefined`. */
export function optionalString(json: JsonObject, name: string, path: string): string | undefined {
  const value = json[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw typeError(path, name, 'string');
}

/** An absent number is 0. */
export function intField(json: JsonObject, name: string, path: string): number {
  return optionalInt(json, name, path) ?? 0;
}

export function optionalInt(json: JsonObject, name: string, path: string): number | undefined {
  const value = json[name] ?? undefined;
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined;
  throw typeError(path, name, 'integer');
}

export function optionalBool(json: JsonObject, name: string, path: string): boolean | undefined {
  const value = json[name] ?? undefined;
  if (value === undefined || typeof value === 'boolean') return value;
  throw typeError(path, name, 'boolean');
}

/** An absent object is an empty one. */
export function objectField(json: JsonObject, name: string, path: string): JsonObject {
  const value = json[name] ?? undefined;
  if (value === undefined) return emptyObject;
  if (isJsonObject(value)) return value;
  throw typeError(path, name, 'object');
}

/** An absent list is empty. */
export function arrayField(json: JsonObject, name: string, path: string): readonly unknown[] {
  const value = json[name] ?? undefined;
  if (value === undefined) return noHints;
  if (Array.isArray(value)) return value;
  throw typeError(path, name, 'array');
}

/** A list of strings; an absent or empty one is the shared empty list. */
export function stringsField(json: JsonObject, name: string, path: string): readonly string[] {
  const values = arrayField(json, name, path);
  for (const [i, value] of values.entries()) {
    if (typeof value !== 'string') throw typeError(path, `${name}[${i}]`, 'string');
  }
  return values.length === 0 ? noHints : (values as readonly string[]);
}

/** Maps the objects of a list. */
export function mapObjects<T>(
  json: JsonObject,
  name: string,
  path: string,
  map: (element: JsonObject, path: string) => T,
): readonly T[] {
  return arrayField(json, name, path).map((element, i) => {
    if (!isJsonObject(element)) throw typeError(path, `${name}[${i}]`, 'object');
    return map(element, joinPath(path, `${name}[${i}]`));
  });
}

/** An RFC 3339 time in milliseconds since the epoch, undefined where absent. */
export function optionalTime(json: JsonObject, name: string, path: string): number | undefined {
  const text = optionalString(json, name, path);
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw typeError(path, name, 'RFC 3339 time');
  return time;
}

/** Whether a JSON value is an object: neither `null` nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The path of a field in an object at `path`, which is `''` for the outermost. */
export function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

const emptyObject: JsonObject = Object.freeze({});

function typeError(path: string, name: string, expected: string): DecodeError {
  return new DecodeError({ code: 'DECODE_JSON_TYPE', path: joinPath(path, name), expected });
}
