import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeObject } from '../../test/cluster/encoding/encode.ts';
import type { EncodableKind } from '../../test/cluster/encoding/kind-shapes.ts';
import type { KindDecoder, KubeObject } from './kind-decoder.ts';
import { endpointSliceKind, nodeKind, serviceCIDRKind, serviceKind } from './kind-decoders.ts';
import { decodeEnvelope } from './protobuf/decode-envelope.ts';
import { WireReader } from './protobuf/wire-reader.ts';

// Any object that the API could hold, strange values included, is the same object in both encodings.

const text = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: 'grapheme', maxLength: 80 }));
const name = fc.string({ minLength: 1, maxLength: 20 });
const int32 = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.integer({ min: 0, max: 65_535 }),
);
const time = fc
  .integer({ min: -62_135_596_800, max: 253_402_300_799 })
  .map((seconds) => new Date(seconds * 1000).toISOString());
const texts = fc.array(text, { maxLength: 3 });
/** Fields of which any may be absent. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });
const labels = (...keys: string[]) =>
  fc.dictionary(
    fc.oneof(fc.constantFrom(...keys), name).filter((key) => key !== '__proto__'),
    text,
    { maxKeys: 4 },
  );

const metadata = (namespaced: boolean) =>
  fc.record(
    {
      name,
      namespace: name,
      uid: text,
      resourceVersion: text,
      creationTimestamp: time,
      deletionTimestamp: time,
      labels: labels('kubernetes.io/service-name', 'topology.kubernetes.io/zone'),
      annotations: labels('endpoints.kubernetes.io/last-change-trigger-time'),
      finalizers: texts,
      generation: fc.nat(),
    },
    { requiredKeys: namespaced ? ['name', 'namespace'] : ['name'] },
  );

const service = fc.record({
  metadata: metadata(true),
  spec: some({
    type: text,
    clusterIP: text,
    clusterIPs: texts,
    ipFamilies: texts,
    ipFamilyPolicy: text,
    externalIPs: texts,
    externalName: text,
    selector: labels('app'),
    sessionAffinity: text,
    sessionAffinityConfig: some({ clientIP: some({ timeoutSeconds: int32 }) }),
    loadBalancerIP: text,
    loadBalancerSourceRanges: texts,
    externalTrafficPolicy: text,
    internalTrafficPolicy: text,
    trafficDistribution: text,
    healthCheckNodePort: int32,
    allocateLoadBalancerNodePorts: fc.boolean(),
    ports: fc.array(
      some({
        name: text,
        protocol: text,
        port: int32,
        nodePort: int32,
        targetPort: fc.oneof(int32, text),
        appProtocol: text,
      }),
      { maxLength: 3 },
    ),
  }),
  status: some({
    loadBalancer: some({
      ingress: fc.array(some({ ip: text, hostname: text, ipMode: text }), { maxLength: 3 }),
    }),
  }),
});

const named = fc.array(fc.record({ name: text }), { maxLength: 3 });
const endpointSlice = fc.record(
  {
    metadata: metadata(true),
    addressType: text,
    endpoints: fc.array(
      some({
        addresses: texts,
        conditions: some({ ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() }),
        hostname: text,
        nodeName: text,
        zone: text,
        targetRef: some({ kind: text, name: text, namespace: text, uid: text }),
        hints: some({ forZones: named, forNodes: named }),
      }),
      { maxLength: 4 },
    ),
    ports: fc.array(some({ name: text, port: int32, protocol: text, appProtocol: text }), { maxLength: 3 }),
  },
  { requiredKeys: ['metadata'] },
);

const node = fc.record({
  metadata: metadata(false),
  spec: some({
    podCIDR: text,
    podCIDRs: texts,
    providerID: text,
    unschedulable: fc.boolean(),
    taints: fc.array(some({ key: text, value: text, effect: text, timeAdded: time }), { maxLength: 3 }),
  }),
  status: some({
    addresses: fc.array(some({ type: text, address: text }), { maxLength: 3 }),
    capacity: labels('cpu', 'memory'),
    conditions: fc.array(some({ type: text, status: text, lastHeartbeatTime: time }), { maxLength: 2 }),
  }),
});

const serviceCIDR = fc.record({ metadata: metadata(false), spec: some({ cidrs: texts }) });

describe('JSON and protobuf give equal objects', () => {
  const kinds: [KindDecoder<KubeObject>, fc.Arbitrary<object>][] = [
    [serviceKind as KindDecoder<never>, service],
    [endpointSliceKind as KindDecoder<never>, endpointSlice],
    [nodeKind as KindDecoder<never>, node],
    [serviceCIDRKind as KindDecoder<never>, serviceCIDR],
  ];
  test.each(kinds.map(([kind, objects]) => [kind.kind, kind, objects] as const))('%s', (_, kind, objects) => {
    fc.assert(
      fc.property(objects, (object) => {
        const body = encodeObject(kind.kind as EncodableKind, object);
        const fromProtobuf = kind.fromProtobuf(decodeEnvelope(new WireReader(body)).raw);
        expect(fromProtobuf).toEqual(kind.fromJson(object as never));
      }),
      { numRuns: 150 },
    );
  });
});

test('an endpoint has its first address, a Node being deleted its time', () => {
  const slice = {
    metadata: { name: 'a', namespace: 'b' },
    endpoints: [{ addresses: ['10.0.0.1', '10.0.0.2'] }, {}],
  };
  const read = (kind: EncodableKind, object: object) =>
    decodeEnvelope(new WireReader(encodeObject(kind, object))).raw;
  const decoded = endpointSliceKind.fromProtobuf(read('EndpointSlice', slice));
  expect(decoded.endpoints.map(({ address }) => address)).toEqual(['10.0.0.1', '']);
  const deleted = {
    metadata: { name: 'a', deletionTimestamp: '2026-01-02T03:04:05Z' },
    spec: { providerID: 'x://y' },
  };
  expect(nodeKind.fromProtobuf(read('Node', deleted))).toMatchObject({
    deletionTimestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
    providerID: 'x://y',
  });
});
