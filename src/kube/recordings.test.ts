import { describe, expect, test } from 'vitest';
import { encodeList, encodeObject, encodeWatchEvent } from '../../test/cluster/encoding/encode.ts';
import type { EncodableKind } from '../../test/cluster/encoding/kind-shapes.ts';
import { type Endpoint, noHints } from './endpoint-slice.ts';
import { statusFromJson } from './json/status-from-json.ts';
import type { KubeObject } from './kind-decoder.ts';
import { endpointSliceKind, nodeKind, serviceCIDRKind, serviceKind } from './kind-decoders.ts';
import { decodeEnvelope } from './protobuf/decode-envelope.ts';
import { decodeStatus } from './protobuf/decode-status.ts';
import { WireReader } from './protobuf/wire-reader.ts';
import { decodeList, decodeWatch, type Encoding, recording } from './testing/recordings.ts';

const json = (file: string) => JSON.parse(recording(file).toString('utf8'));
const encodings: readonly Encoding[] = ['json', 'pb'];

describe('lists', () => {
  const rows = [
    {
      file: 'services-list',
      kind: serviceKind,
      names: ['dns', 'dual', 'ext', 'headless', 'lb', 'np', 'web'],
    },
    { file: 'services-list-page1', kind: serviceKind, names: ['dns', 'dual', 'ext'] },
    {
      file: 'endpointslices-list',
      kind: endpointSliceKind,
      names: ['dns-1', 'dual-6', 'web-abc12', 'web-xyz99'],
    },
    { file: 'node-list-by-name', kind: nodeKind, names: ['node1'] },
    { file: 'servicecidrs-list', kind: serviceCIDRKind, names: ['kubernetes'] },
    {
      file: 'not-acceptable',
      kind: serviceKind,
      names: ['dns', 'dual', 'ext', 'headless', 'lb', 'np', 'web'],
    },
  ] as const;

  for (const { file, kind, names } of rows) {
    for (const encoding of encodings) {
      if (file === 'not-acceptable' && encoding === 'json') continue; // that one is a Status
      test(`${file}.${encoding}`, () => {
        const { items, bad, meta } = decodeList<KubeObject>(
          kind as never,
          encoding,
          recording(`${file}.${encoding}`),
        );
        expect(bad).toEqual([]);
        expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
        expect(meta.resourceVersion).toMatch(/^\d+$/);
        expect(meta.continue !== '').toBe(file === 'services-list-page1');
        for (const item of items) expect(item.resourceVersion).toMatch(/^\d+$/);
      });
    }

    if (file === 'not-acceptable') continue;
    test(`${file}: JSON and protobuf give equal objects, in pieces of any size`, () => {
      const list = json(`${file}.json`);
      const body = encodeList(kind.kind as Exclude<EncodableKind, 'Status'>, list.items, list.metadata);
      const whole = decodeList<KubeObject>(kind as never, 'json', recording(`${file}.json`));
      expect(whole.items.length).toBe(list.items.length);
      for (const pieceBytes of [1, 7, 100, body.length]) {
        expect(decodeList<KubeObject>(kind as never, 'pb', body, pieceBytes)).toEqual(whole);
        expect(decodeList<KubeObject>(kind as never, 'json', recording(`${file}.json`), pieceBytes)).toEqual(
          whole,
        );
      }
    });
  }

  test.each(encodings)('a LoadBalancer Service (%s)', (encoding) => {
    const { items } = decodeList(serviceKind, encoding, recording(`services-list.${encoding}`));
    const lb = items.find(({ name }) => name === 'lb');
    expect({ ...lb, resourceVersion: '', creationTimestamp: 0 }).toEqual({
      namespace: 'default',
      name: 'lb',
      resourceVersion: '',
      creationTimestamp: 0,
      type: 'LoadBalancer',
      clusterIP: '10.104.128.6',
      clusterIPs: ['10.104.128.6'],
      ipFamilies: ['IPv4'],
      ports: [{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }],
      externalIPs: [],
      sessionAffinity: 'None',
      affinityTimeoutSeconds: undefined,
      loadBalancerSourceRanges: ['203.0.113.0/24'],
      loadBalancerIngress: [
        { ip: '198.51.100.20', ipMode: 'VIP' },
        { ip: '', ipMode: '' },
      ],
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Cluster',
      healthCheckNodePort: 32089,
    });
    expect(new Date(lb!.creationTimestamp).toISOString()).toMatch(/^2026-12-01T01:3\d:\d\d\.000Z$/);
  });

  test.each(encodings)('a NodePort Service with affinity (%s)', (encoding) => {
    const { items } = decodeList(serviceKind, encoding, recording(`services-list.${encoding}`));
    expect(items.find(({ name }) => name === 'np')).toMatchObject({
      ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 30080 }],
      externalIPs: ['198.51.100.7'],
      sessionAffinity: 'ClientIP',
      affinityTimeoutSeconds: 900,
    });
  });

  test('slices: conditions, hints, shared empty hints', () => {
    const { items } = decodeList(endpointSliceKind, 'json', recording('endpointslices-list.json'));
    const web = items.find(({ name }) => name === 'web-abc12')!;
    expect(web).toMatchObject({
      serviceName: 'web',
      addressType: 'IPv4',
      lastChangeTriggerTime: '2026-01-02T03:04:05Z',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    });
    expect(web.endpoints[1]).toEqual({
      address: '10.128.1.5',
      ready: true,
      serving: true,
      terminating: false,
      nodeName: 'node-1',
      zoneHints: ['zone-b'],
      nodeHints: ['node-1'],
    });
    for (const encoding of encodings) {
      const decoded = decodeList(
        endpointSliceKind,
        encoding,
        recording(`endpointslices-list.${encoding}`),
      ).items;
      expect(decoded.find(({ name }) => name === 'dns-1')!.endpoints[0]!.zoneHints).toBe(noHints);
      const kubernetes = decoded.find(({ name }) => name === 'kubernetes')?.endpoints[0];
      const bare: Partial<Endpoint> = {
        ready: true,
        serving: undefined,
        terminating: undefined,
        nodeName: undefined,
      };
      if (kubernetes !== undefined) expect(kubernetes).toMatchObject(bare);
    }
  });

  test.each(encodings)('the Node and the ServiceCIDR (%s)', (encoding) => {
    const [node] = decodeList(nodeKind, encoding, recording(`node-list-by-name.${encoding}`)).items;
    expect(node).toMatchObject({
      name: 'node1',
      labels: { 'topology.kubernetes.io/zone': 'zone-a' },
      podCIDRs: ['10.128.0.0/24', 'fd00:128::/64'],
      addresses: [
        { type: 'Hostname', address: 'node1' },
        { type: 'InternalIP', address: '192.168.77.11' },
        { type: 'InternalIP', address: 'fd77::11' },
        { type: 'ExternalIP', address: '203.0.113.11' },
      ],
      deletionTimestamp: undefined,
      providerID: '',
      taints: [
        { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
      ],
    });
    expect(node!.uid).toMatch(/^[0-9a-f-]{36}$/);
    const [cidr] = decodeList(serviceCIDRKind, encoding, recording(`servicecidrs-list.${encoding}`)).items;
    expect(cidr).toMatchObject({ name: 'kubernetes', cidrs: ['10.96.0.0/12', 'fd00:10:96::/108'] });
  });
});

describe('watches', () => {
  test.each(encodings)('services-watch.%s: added, modified, deleted', (encoding) => {
    const events = decodeWatch(serviceKind, encoding, recording(`services-watch.${encoding}`));
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'ADDED', object: { name: 'tmp', ports: [{ port: 81 }] } },
      { type: 'MODIFIED', object: { name: 'tmp', ports: [{ port: 82 }] } },
      { type: 'DELETED', object: { name: 'tmp', ports: [{ port: 82 }] } },
    ]);
  });

  test.each(encodings)(
    'endpointslices-watchlist.%s: the bookmark that ends the initial events',
    (encoding) => {
      const events = decodeWatch(
        endpointSliceKind,
        encoding,
        recording(`endpointslices-watchlist.${encoding}`),
      );
      const end = events.findIndex((event) => event.type === 'BOOKMARK' && event.initialEventsEnd);
      expect(end).toBe(5);
      expect(events.slice(0, end).every(({ type }) => type === 'ADDED')).toBe(true);
      expect(events[end]).toMatchObject({ resourceVersion: expect.stringMatching(/^\d+$/) });
      expect(events.slice(end + 1).some((event) => event.type === 'BOOKMARK' && event.initialEventsEnd)).toBe(
        false,
      );
    },
  );

  test.each(encodings)('watch-label-leaves-selector.%s: arrives as a deletion', (encoding) => {
    const events = decodeWatch(serviceKind, encoding, recording(`watch-label-leaves-selector.${encoding}`));
    expect(events.map(({ type }) => type)).toContain('DELETED');
  });

  test.each(encodings)('watch-expired.%s: a Status in an ERROR event', (encoding) => {
    const events = decodeWatch(serviceKind, encoding, recording(`watch-expired.${encoding}`));
    expect(events).toMatchObject([
      { type: 'ERROR', status: { code: 410, reason: 'Expired', status: 'Failure' } },
    ]);
  });

  test.each(encodings)('watch-future.%s: an empty stream', (encoding) => {
    expect(decodeWatch(serviceKind, encoding, recording(`watch-future.${encoding}`))).toEqual([]);
  });

  test('JSON and protobuf give equal events, in pieces of any size', () => {
    for (const [file, kind] of [
      ['services-watch', serviceKind],
      ['endpointslices-watchlist', endpointSliceKind],
      ['watch-label-leaves-selector', serviceKind],
      ['watch-expired', serviceKind],
    ] as const) {
      const stream = recording(`${file}.json`);
      const lines = stream.toString('utf8').trim().split('\n');
      const frames = lines.map((line) => {
        const { type, object } = JSON.parse(line);
        return encodeWatchEvent(type, object.kind, object);
      });
      const whole = decodeWatch<KubeObject>(kind as never, 'json', stream);
      expect(whole.length).toBe(lines.length);
      for (const pieceBytes of [1, 13, 5000]) {
        expect(decodeWatch<KubeObject>(kind as never, 'pb', Buffer.concat(frames), pieceBytes)).toEqual(
          whole,
        );
        expect(decodeWatch<KubeObject>(kind as never, 'json', stream, pieceBytes)).toEqual(whole);
      }
    }
  });
});

describe('Status bodies', () => {
  test.each([
    ['node-get-missing', 404, 'NotFound'],
    ['unauthorized', 401, 'Unauthorized'],
    ['forbidden', 403, 'Forbidden'],
    ['list-continue-expired', 410, 'Expired'],
  ])('%s', (file, code, reason) => {
    const envelope = decodeEnvelope(new WireReader(recording(`${file}.pb`)));
    expect(envelope).toMatchObject({ apiVersion: 'v1', kind: 'Status' });
    const status = decodeStatus(envelope.raw);
    expect(status).toMatchObject({ status: 'Failure', code, reason });
    expect(statusFromJson(json(`${file}.json`))).toEqual(status);
  });

  test('retryAfterSeconds and causes', () => {
    const tooLarge = {
      metadata: {},
      status: 'Failure',
      message: 'Too large resource version: 9, current: 5',
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'm' }], retryAfterSeconds: 1 },
      code: 504,
    };
    const status = decodeStatus(decodeEnvelope(new WireReader(encodeObject('Status', tooLarge))).raw);
    expect(status).toMatchObject({ code: 504, retryAfterSeconds: 1, causes: ['ResourceVersionTooLarge'] });
    expect(statusFromJson(tooLarge)).toEqual(status);
  });

  test('not-acceptable.json', () => {
    expect(statusFromJson(json('not-acceptable.json'))).toMatchObject({ code: 406, reason: 'NotAcceptable' });
  });
});
