import type { Status } from '../status.ts';
import { intField, type JsonObject, mapObjects, objectField, stringField } from './json-fields.ts';

/** Reads a `metav1.Status` from its JSON form. Throws DecodeError. */
export function statusFromJson(json: JsonObject): Status {
  const details = objectField(json, 'details', '');
  return {
    status: stringField(json, 'status', ''),
    message: stringField(json, 'message', ''),
    reason: stringField(json, 'reason', ''),
    code: intField(json, 'code', ''),
    retryAfterSeconds: intField(details, 'retryAfterSeconds', 'details'),
    causes: mapObjects(details, 'causes', 'details', (cause, path) => stringField(cause, 'reason', path)),
  };
}
