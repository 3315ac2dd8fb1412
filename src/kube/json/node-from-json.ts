import { DecodeError } from '../decode-error.ts';
import type { Node } from '../node.ts';
import { type JsonObject, mapObjects, objectField, stringField, stringsField } from './json-fields.ts';
import { objectMetaFromJson } from './object-meta-from-json.ts';

/** Reads a core/v1 Node from its JSON form. Throws DecodeError. */
export function nodeFromJson(json: JsonObject): Node {
  const meta = objectMetaFromJson(json);
  if (meta.name === '') throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'Node' });
  const spec = objectField(json, 'spec', '');
  const status = objectField(json, 'status', '');
  return {
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    uid: meta.uid,
    labels: Object.fromEntries(
      Object.keys(meta.labels).map((key) => [key, stringField(meta.labels, key, 'metadata.labels')]),
    ),
    podCIDRs: stringsField(spec, 'podCIDRs', 'spec'),
    addresses: mapObjects(status, 'addresses', 'status', (address, path) => ({
      type: stringField(address, 'type', path),
      address: stringField(address, 'address', path),
    })),
    deletionTimestamp: meta.deletionTimestamp,
    providerID: stringField(spec, 'providerID', 'spec'),
    taints: mapObjects(spec, 'taints', 'spec', (taint, path) => ({
      key: stringField(taint, 'key', path),
      effect: stringField(taint, 'effect', path),
    })),
  };
}
