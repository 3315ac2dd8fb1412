import { type JsonObject, objectField, optionalTime, stringField } from './json-fields.ts';

/** The part of `metadata` that some kind needs. Labels and annotations are checked when read. */
export interface JsonObjectMeta {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: number;
  readonly deletionTimestamp: number | undefined;
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
}

/** Reads `metadata` of an object. Throws DecodeError. */
export function objectMetaFromJson(json: JsonObject): JsonObjectMeta {
  const meta = objectField(json, 'metadata', '');
  return {
    namespace: stringField(meta, 'namespace', 'metadata'),
    name: stringField(meta, 'name', 'metadata'),
    uid: stringField(meta, 'uid', 'metadata'),
    resourceVersion: stringField(meta, 'resourceVersion', 'metadata'),
    creationTimestamp: optionalTime(meta, 'creationTimestamp', 'metadata') ?? 0,
    deletionTimestamp: optionalTime(meta, 'deletionTimestamp', 'metadata'),
    labels: objectField(meta, 'labels', 'metadata'),
    annotations: objectField(meta, 'annotations', 'metadata'),
  };
}
