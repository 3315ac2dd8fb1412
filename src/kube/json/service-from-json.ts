import { DecodeError } from '../decode-error.ts';
import type { LoadBalancerIngress, Service, ServicePort } from '../service.ts';
import { strings } from '../string-table.ts';
import {
  intField,
  type JsonObject,
  mapObjects,
  objectField,
  optionalInt,
  stringField,
  stringsField,
} from './json-fields.ts';
import { objectMetaFromJson } from './object-meta-from-json.ts';

/** Reads a core/v1 Service from its JSON form. Throws DecodeError. */
export function serviceFromJson(json: JsonObject): Service {
  const meta = objectMetaFromJson(json);
  if (meta.name === '' || meta.namespace === '')
    throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'Service' });
  const spec = objectField(json, 'spec', '');
  const affinity = objectField(spec, 'sessionAffinityConfig', 'spec');
  const clientIP = objectField(affinity, 'clientIP', 'spec.sessionAffinityConfig');
  const loadBalancer = objectField(objectField(json, 'status', ''), 'loadBalancer', 'status');
  const families = stringsField(spec, 'ipFamilies', 'spec').map((family) => strings.fromString(family));
  return {
    namespace: strings.fromString(meta.namespace),
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    creationTimestamp: meta.creationTimestamp,
    type: strings.fromString(stringField(spec, 'type', 'spec')),
    clusterIP: stringField(spec, 'clusterIP', 'spec'),
    clusterIPs: stringsField(spec, 'clusterIPs', 'spec'),
    ipFamilies: families.length === 1 ? strings.single(families[0]!) : families,
    ports: mapObjects(spec, 'ports', 'spec', portFromJson),
    externalIPs: stringsField(spec, 'externalIPs', 'spec'),
    sessionAffinity: strings.fromString(stringField(spec, 'sessionAffinity', 'spec')),
    affinityTimeoutSeconds: optionalInt(clientIP, 'timeoutSeconds', 'spec.sessionAffinityConfig.clientIP'),
    loadBalancerSourceRanges: stringsField(spec, 'loadBalancerSourceRanges', 'spec'),
    loadBalancerIngress: mapObjects(loadBalancer, 'ingress', 'status.loadBalancer', ingressFromJson),
    externalTrafficPolicy: strings.fromString(stringField(spec, 'externalTrafficPolicy', 'spec')),
    internalTrafficPolicy: strings.fromString(stringField(spec, 'internalTrafficPolicy', 'spec')),
    healthCheckNodePort: intField(spec, 'healthCheckNodePort', 'spec'),
  };
}

function portFromJson(json: JsonObject, path: string): ServicePort {
  return {
    name: strings.fromString(stringField(json, 'name', path)),
    protocol: strings.fromString(stringField(json, 'protocol', path) || 'TCP'),
    port: intField(json, 'port', path),
    nodePort: intField(json, 'nodePort', path),
  };
}

function ingressFromJson(json: JsonObject, path: string): LoadBalancerIngress {
  return { ip: stringField(json, 'ip', path), ipMode: strings.fromString(stringField(json, 'ipMode', path)) };
}
