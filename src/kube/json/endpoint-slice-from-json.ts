import { DecodeError } from '../decode-error.ts';
import { type Endpoint, type EndpointPort, type EndpointSlice, noHints } from '../endpoint-slice.ts';
import { lastChangeTriggerTimeAnnotation, serviceNameLabel } from '../protobuf/decode-endpoint-slice.ts';
import { strings } from '../string-table.ts';
import {
  type JsonObject,
  joinPath,
  mapObjects,
  objectField,
  optionalBool,
  optionalInt,
  optionalString,
  stringField,
  stringsField,
} from './json-fields.ts';
import { objectMetaFromJson } from './object-meta-from-json.ts';

/** Reads a discovery/v1 EndpointSlice from its JSON form. Throws DecodeError. */
export function endpointSliceFromJson(json: JsonObject): EndpointSlice {
  const meta = objectMetaFromJson(json);
  if (meta.name === '' || meta.namespace === '') {
    throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'EndpointSlice' });
  }
  return {
    namespace: strings.fromString(meta.namespace),
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    serviceName: stringField(meta.labels, serviceNameLabel, 'metadata.labels'),
    addressType: strings.fromString(stringField(json, 'addressType', '')),
    ports: mapObjects(json, 'ports', '', portFromJson),
    endpoints: mapObjects(json, 'endpoints', '', endpointFromJson),
    lastChangeTriggerTime: stringField(
      meta.annotations,
      lastChangeTriggerTimeAnnotation,
      'metadata.annotations',
    ),
  };
}

function endpointFromJson(json: JsonObject, path: string): Endpoint {
  const conditions = objectField(json, 'conditions', path);
  const conditionsPath = joinPath(path, 'conditions');
  const hints = objectField(json, 'hints', path);
  const hintsPath = joinPath(path, 'hints');
  const nodeName = optionalString(json, 'nodeName', path);
  return {
    address: stringsField(json, 'addresses', path)[0] ?? '',
    ready: optionalBool(conditions, 'ready', conditionsPath),
    serving: optionalBool(conditions, 'serving', conditionsPath),
    terminating: optionalBool(conditions, 'terminating', conditionsPath),
    nodeName: nodeName === undefined ? undefined : strings.fromString(nodeName),
    zoneHints: hintsFromJson(hints, 'forZones', hintsPath),
    nodeHints: hintsFromJson(hints, 'forNodes', hintsPath),
  };
}

function hintsFromJson(hints: JsonObject, name: string, path: string): readonly string[] {
  const names = mapObjects(hints, name, path, (hint, hintPath) =>
    strings.fromString(stringField(hint, 'name', hintPath)),
  );
  if (names.length === 0) return noHints;
  return names.length === 1 ? strings.single(names[0]!) : names;
}

function portFromJson(json: JsonObject, path: string): EndpointPort {
  const name = optionalString(json, 'name', path);
  return {
    name: name === undefined ? undefined : strings.fromString(name),
    port: optionalInt(json, 'port', path),
    protocol: strings.fromString(stringField(json, 'protocol', path) || 'TCP'),
  };
}
