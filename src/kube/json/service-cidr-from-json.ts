import { DecodeError } from '../decode-error.ts';
import type { ServiceCIDR } from '../service-cidr.ts';
import { type JsonObject, objectField, stringsField } from './json-fields.ts';
import { objectMetaFromJson } from './object-meta-from-json.ts';

/** Reads a networking/v1 ServiceCIDR from its JSON form. Throws DecodeError. */
export function serviceCIDRFromJson(json: JsonObject): ServiceCIDR {
  const meta = objectMetaFromJson(json);
  if (meta.name === '') throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'ServiceCIDR' });
  return {
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    cidrs: stringsField(objectField(json, 'spec', ''), 'cidrs', 'spec'),
  };
}
