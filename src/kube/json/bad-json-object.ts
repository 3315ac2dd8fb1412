import { describeError } from '../../base/fairlead-error.ts';
import type { BadObject } from '../watch-event.ts';
import { isJsonObject, type JsonObject } from './json-fields.ts';

/** Describes an object that failed to decode, naming it as far as its metadata can be read. */
export function badJsonObject(kind: string, json: JsonObject | undefined, error: unknown): BadObject {
  const { metadata } = json ?? {};
  const text = (name: string): string => {
    const value = isJsonObject(metadata) ? metadata[name] : undefined;
    return typeof value === 'string' ? value : '';
  };
  return {
    kind,
    namespace: text('namespace'),
    name: text('name'),
    resourceVersion: text('resourceVersion'),
    reason: describeError(error),
  };
}
