import { DecodeError } from '../decode-error.ts';
import { type Endpoint, type EndpointPort, type EndpointSlice, noHints } from '../endpoint-slice.ts';
import type { Mutable } from '../mutable.ts';
import { strings } from '../string-table.ts';
import { decodeObjectMeta, type ObjectMetaSelection } from './decode-object-meta.ts';
import type { WireReader } from './wire-reader.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const lastChangeTriggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

const selection: ObjectMetaSelection = {
  label: serviceNameLabel,
  annotation: lastChangeTriggerTimeAnnotation,
};

/** Reads a discovery/v1 EndpointSlice message (field numbers: k8s.io/api/discovery/v1/generated.proto). Throws DecodeError. */
export function decodeEndpointSlice(reader: WireReader): EndpointSlice {
  const ports: EndpointPort[] = [];
  const endpoints: Endpoint[] = [];
  const slice: Mutable<EndpointSlice> = {
    namespace: '',
    name: '',
    resourceVersion: '',
    serviceName: '',
    addressType: '',
    ports,
    endpoints,
    lastChangeTriggerTime: '',
  };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1: {
        const meta = decodeObjectMeta(reader, selection);
        slice.namespace = meta.namespace;
        slice.name = meta.name;
        slice.resourceVersion = meta.resourceVersion;
        slice.serviceName = meta.label;
        slice.lastChangeTriggerTime = meta.annotation;
        break;
      }
      case 2:
        endpoints.push(decodeEndpoint(reader));
        break;
      case 3:
        ports.push(decodePort(reader));
        break;
      case 4:
        slice.addressType = reader.sharedString();
        break;
      default:
        reader.skip();
    }
  }
  if (slice.name === '' || slice.namespace === '') {
    throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'EndpointSlice' });
  }
  return slice;
}

function decodeEndpoint(reader: WireReader): Endpoint {
  let address: string | undefined;
  const endpoint: Mutable<Endpoint> = {
    address: '',
    ready: undefined,
    serving: undefined,
    terminating: undefined,
    nodeName: undefined,
    zoneHints: noHints,
    nodeHints: noHints,
  };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        if (address === undefined) address = reader.string();
        else reader.skip();
        break;
      case 2:
        decodeConditions(reader, endpoint);
        break;
      case 6:
        endpoint.nodeName = reader.sharedString();
        break;
      case 8:
        decodeHints(reader, endpoint);
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  endpoint.address = address ?? '';
  return endpoint;
}

function decodeConditions(reader: WireReader, endpoint: Mutable<Endpoint>): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        endpoint.ready = reader.bool();
        break;
      case 2:
        endpoint.serving = reader.bool();
        break;
      case 3:
        endpoint.terminating = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
}

function decodeHints(reader: WireReader, endpoint: Mutable<Endpoint>): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        endpoint.zoneHints = appendHint(endpoint.zoneHints, decodeHintName(reader));
        break;
      case 2:
        endpoint.nodeHints = appendHint(endpoint.nodeHints, decodeHintName(reader));
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
}

/** A `ForZone` or `ForNode`: `{1: name}`. */
function decodeHintName(reader: WireReader): string {
  let name = '';
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) name = reader.sharedString();
    else reader.skip();
  }
  reader.leave(outer);
  return name;
}

/** Lists of one hint are shared, so a second hint makes a new list. */
function appendHint(hints: readonly string[], hint: string): readonly string[] {
  return hints.length === 0 ? strings.single(hint) : [...hints, hint];
}

function decodePort(reader: WireReader): EndpointPort {
  const port: Mutable<EndpointPort> = { name: undefined, port: undefined, protocol: 'TCP' };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        port.name = reader.sharedString();
        break;
      case 2:
        port.protocol = reader.sharedString() || 'TCP';
        break;
      case 3:
        port.port = reader.int32();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return port;
}
