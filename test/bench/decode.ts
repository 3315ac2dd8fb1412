/**
 * How long 10,000 Services and 10,000 EndpointSlices of ten endpoints take to decode from protobuf and from JSON, and
 * what they hold on the heap afterwards. Run with `node --expose-gc test/bench/decode.ts`.
 */

import { JsonListDecoder } from '../../src/kube/json/json-list-decoder.ts';
import type { KindDecoder, KubeObject } from '../../src/kube/kind-decoder.ts';
import { endpointSliceKind, serviceKind } from '../../src/kube/kind-decoders.ts';
import { ProtobufListDecoder } from '../../src/kube/protobuf/protobuf-list-decoder.ts';
import type { ListDecoder, ListHandler } from '../../src/kube/stream-decoder.ts';
import { encodeList } from '../cluster/encoding/encode.ts';
import { largeEndpointSlices, largeServices } from './large-cluster.ts';

const chunkBytes = 64 * 1024;

function decodeAll<T extends KubeObject>(
  decoder: (handler: ListHandler<T>) => ListDecoder,
  body: Buffer,
): T[] {
  const objects: T[] = [];
  const list = decoder({ item: (object) => objects.push(object), bad: (bad) => console.error(bad) });
  for (let at = 0; at < body.length; at += chunkBytes) list.push(body.subarray(at, at + chunkBytes));
  list.end();
  return objects;
}

function measure<T extends KubeObject>(
  name: string,
  body: Buffer,
  decoder: (handler: ListHandler<T>) => ListDecoder,
) {
  globalThis.gc?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const times: string[] = [];
  let objects: T[] = [];
  for (let round = 0; round < 5; round++) {
    objects = [];
    const start = process.cpuUsage();
    objects = decodeAll(decoder, body);
    times.push((process.cpuUsage(start).user / 1000).toFixed(0));
  }
  globalThis.gc?.();
  const heap = (process.memoryUsage().heapUsed - heapBefore) / 1e6;
  console.log(
    `${name}: ${(body.length / 1e6).toFixed(1)} MB, ${objects.length} objects, CPU ms per round (the first is cold) ${times.join(' ')}, heap kept ${heap.toFixed(1)} MB`,
  );
  return objects;
}

const services = largeServices(10_000);
const slices = largeEndpointSlices(10_000, 10);
const jsonList = (kind: string, apiVersion: string, items: object[]) =>
  Buffer.from(JSON.stringify({ kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '9' }, items }));
const protobuf =
  <T extends KubeObject>(kind: KindDecoder<T>) =>
  (handler: ListHandler<T>) =>
    new ProtobufListDecoder(kind, handler);
const json =
  <T extends KubeObject>(kind: KindDecoder<T>) =>
  (handler: ListHandler<T>) =>
    new JsonListDecoder(kind, handler);

const bodies = {
  services: encodeList('Service', services, { resourceVersion: '9' }),
  slices: encodeList('EndpointSlice', slices, { resourceVersion: '9' }),
  servicesJson: process.argv.includes('--json') ? jsonList('Service', 'v1', services) : Buffer.alloc(0),
  slicesJson: process.argv.includes('--json')
    ? jsonList('EndpointSlice', 'discovery.k8s.io/v1', slices)
    : Buffer.alloc(0),
};
services.length = 0;
slices.length = 0;
measure('services protobuf', bodies.services, protobuf(serviceKind));
measure('slices protobuf', bodies.slices, protobuf(endpointSliceKind));
if (bodies.servicesJson.length > 0) {
  measure('services json', bodies.servicesJson, json(serviceKind));
  measure('slices json', bodies.slicesJson, json(endpointSliceKind));
}
