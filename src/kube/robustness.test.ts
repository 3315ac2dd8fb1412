import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeList, encodeWatchEvent } from '../../test/cluster/encoding/encode.ts';
import { DecodeError } from './decode-error.ts';
import type { KindDecoder, KubeObject } from './kind-decoder.ts';
import { endpointSliceKind, nodeKind, serviceCIDRKind, serviceKind } from './kind-decoders.ts';
import { decodeEnvelope } from './protobuf/decode-envelope.ts';
import { decodeStatus } from './protobuf/decode-status.ts';
import { WireReader } from './protobuf/wire-reader.ts';
import { maxObjectBytes } from './stream-decoder.ts';
import { decodeList, decodeWatch, type Encoding, recording } from './testing/recordings.ts';

const kinds = [
  serviceKind,
  endpointSliceKind,
  nodeKind,
  serviceCIDRKind,
] as unknown as KindDecoder<KubeObject>[];
const [service, endpointSlice] = kinds as [KindDecoder<KubeObject>, KindDecoder<KubeObject>];
const listFiles = ['services-list', 'endpointslices-list', 'node-list-by-name', 'servicecidrs-list'] as const;

/** Runs a decoder on hostile input: it ends, with a result or with a DecodeError. */
function survives(decode: () => unknown): 'decoded' | 'refused' {
  try {
    decode();
    return 'decoded';
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return 'refused';
  }
}

describe('hostile input ends in a DecodeError or a result', () => {
  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, prefixed) => {
        const body = Buffer.concat([Buffer.from(prefixed ? 'k8s\0' : ''), bytes]);
        for (const kind of kinds) {
          survives(() => kind.fromProtobuf(new WireReader(Buffer.from(bytes))));
          survives(() => decodeList(kind, 'pb', body, 11));
          survives(() => decodeWatch(kind, 'pb', body, 11));
          survives(() => decodeList(kind, 'json', body, 11));
          survives(() => decodeWatch(kind, 'json', body, 11));
        }
        survives(() => decodeStatus(decodeEnvelope(new WireReader(body)).raw));
      }),
      { numRuns: 200 },
    );
  });

  test('recordings with changed, removed and doubled bytes', () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      remove: fc.integer({ min: 0, max: 3 }),
      insert: fc.uint8Array({ maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 2, 3),
        fc.constantFrom<Encoding>('pb', 'json'),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (index, encoding, changes) => {
          let body = recording(`${listFiles[index]}.${encoding}`);
          for (const { at, remove, insert } of changes) {
            const offset = Math.floor(at * body.length);
            body = Buffer.concat([body.subarray(0, offset), insert, body.subarray(offset + remove)]);
          }
          survives(() => decodeList(kinds[index]!, encoding, body, 97));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(['pb', 'json'] as const)('lists cut at every offset (%s)', (encoding) => {
    for (const [index, file] of listFiles.entries()) {
      const body = recording(`${file}.${encoding}`);
      for (let length = 0; length < body.length; length++) {
        const outcome = survives(() => decodeList(kinds[index]!, encoding, body.subarray(0, length)));
        // What follows the list, an empty encoding and type or a line end, may be missing.
        const optional = length >= body.length - (encoding === 'pb' ? 4 : 1);
        if (!optional && outcome !== 'refused') throw new Error(`${file}: accepted when cut at ${length}`);
      }
    }
  });

  test.each(['pb', 'json'] as const)(
    'watches cut at every offset lose only what was cut (%s)',
    (encoding) => {
      const stream = recording(`endpointslices-watchlist.${encoding}`);
      const whole = decodeWatch(endpointSlice, encoding, stream);
      let complete = 0;
      for (let length = 0; length <= stream.length; length += 7) {
        const outcome = survives(() => {
          complete = decodeWatch(endpointSlice, encoding, stream.subarray(0, length)).length;
        });
        if (outcome === 'decoded') expect(complete).toBeLessThanOrEqual(whole.length);
      }
      expect(
        survives(() => decodeWatch(endpointSlice, encoding, stream.subarray(0, stream.length - 3))),
      ).toBe('refused');
    },
  );
});

describe('limits', () => {
  test('a frame that claims gigabytes is refused at once', () => {
    expect(() => decodeWatch(service, 'pb', Buffer.from('7fffffff0a05', 'hex'))).toThrow(
      expect.objectContaining({
        detail: { code: 'DECODE_TOO_LARGE', offset: 0, bytes: 0x7fffffff, limit: maxObjectBytes },
      }),
    );
  });

  test('an item that claims gigabytes is refused at once', () => {
    const list = encodeList('Service', [], { resourceVersion: '1' });
    const head = list.subarray(0, 4 + 19); // magic and type
    const claim = Buffer.concat([head, Buffer.from('12ffffffff0f12ffffffff07', 'hex')]);
    expect(() => decodeList(service, 'pb', claim)).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'DECODE_TOO_LARGE' }) }),
    );
  });

  test('a JSON object without end is refused at the limit', () => {
    const piece = Buffer.alloc(1024 * 1024, 0x61);
    expect(() =>
      decodeWatch(service, 'json', Buffer.concat([Buffer.from('{"a":"'), ...Array(17).fill(piece)]), 65_536),
    ).toThrow(expect.objectContaining({ detail: expect.objectContaining({ code: 'DECODE_TOO_LARGE' }) }));
  });
});

describe('one bad object does not cost the others', () => {
  const good = (name: string, port = 80) => ({
    metadata: { name, namespace: 'ns', resourceVersion: '7' },
    spec: { clusterIP: '10.0.0.1', ports: [{ port }] },
  });

  test('protobuf list: a port whose number is a string', () => {
    const body = encodeList('Service', [good('a'), good('b'), good('c')], { resourceVersion: '9' });
    // In b, field 3 of the port (`18 50`, varint 80) becomes a field of wire type 7.
    const b = body.indexOf('b', body.indexOf('a\x12\0', 0, 'latin1') + 1, 'latin1');
    body[body.indexOf(Buffer.from([0x18, 80]), b)] = 0x1f;
    const { items, bad, meta } = decodeList(service, 'pb', body);
    expect(items.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(bad).toEqual([
      {
        kind: 'Service',
        namespace: 'ns',
        name: 'b',
        resourceVersion: '7',
        reason: expect.stringContaining('wire type 7'),
      },
    ]);
    expect(meta.resourceVersion).toBe('9');
  });

  test('protobuf watch', () => {
    const frame = encodeWatchEvent('MODIFIED', 'Service', good('b'));
    frame[frame.indexOf(Buffer.from([0x18, 80]))] = 0x1f;
    const events = decodeWatch(
      service,
      'pb',
      Buffer.concat([frame, encodeWatchEvent('ADDED', 'Service', good('c'))]),
    );
    expect(events).toMatchObject([
      { type: 'BAD', bad: { namespace: 'ns', name: 'b' }, isDeletion: false },
      { type: 'ADDED' },
    ]);
    const deletion = encodeWatchEvent('DELETED', 'Service', good('b'));
    deletion[deletion.indexOf(Buffer.from([0x18, 80]))] = 0x1f;
    expect(decodeWatch(service, 'pb', deletion)).toMatchObject([
      { type: 'BAD', bad: { name: 'b' }, isDeletion: true },
    ]);
  });

  test('JSON list and watch', () => {
    const wrong = { ...good('b'), spec: { ports: [{ port: 'http' }] } };
    const list = {
      kind: 'ServiceList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '9' },
      items: [good('a'), wrong, good('c')],
    };
    const { items, bad } = decodeList(service, 'json', Buffer.from(JSON.stringify(list)));
    expect(items.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(bad).toEqual([
      {
        kind: 'Service',
        namespace: 'ns',
        name: 'b',
        resourceVersion: '7',
        reason: 'spec.ports[0].port: expected integer',
      },
    ]);
    const event = { type: 'MODIFIED', object: { kind: 'Service', ...wrong } };
    expect(decodeWatch(service, 'json', Buffer.from(JSON.stringify(event)))).toMatchObject([
      { type: 'BAD', bad: { name: 'b' }, isDeletion: false },
    ]);
    const deletion = Buffer.from(JSON.stringify({ ...event, type: 'DELETED' }));
    expect(decodeWatch(service, 'json', deletion)).toMatchObject([
      { type: 'BAD', bad: { name: 'b' }, isDeletion: true },
    ]);
  });

  test('an object without a name', () => {
    const body = encodeList('Service', [good('a'), { metadata: { namespace: 'ns' } }, good('c')]);
    const { items, bad } = decodeList(service, 'pb', body);
    expect(items.length).toBe(2);
    expect(bad).toMatchObject([{ namespace: 'ns', name: '', reason: 'Service without a name or namespace' }]);
  });
});

describe('what a list or watch must be', () => {
  test('another kind is refused', () => {
    expect(() => decodeList(service, 'pb', recording('endpointslices-list.pb'))).toThrow(
      /expected v1 ServiceList/,
    );
    expect(() => decodeList(service, 'json', recording('endpointslices-list.json'))).toThrow(
      /expected ServiceList/,
    );
    expect(() => decodeList(service, 'pb', recording('forbidden.pb'))).toThrow(/got v1 Status/);
    expect(() => decodeWatch(service, 'pb', recording('endpointslices-watchlist.pb'))).toThrow(
      /expected v1 Service/,
    );
    expect(() => decodeWatch(service, 'json', recording('endpointslices-watchlist.json'))).toThrow(
      /expected Service/,
    );
  });

  test('an event type from the future is refused', () => {
    const frame = encodeWatchEvent('RENAMED' as never, 'Service', {
      metadata: { name: 'a', namespace: 'b' },
    });
    expect(() => decodeWatch(service, 'pb', frame)).toThrow(/unknown watch event type "RENAMED"/);
  });

  test('JSON: null items, items before metadata, nested items, escapes and blanks', () => {
    const decode = (text: string) => decodeList(service, 'json', Buffer.from(text), 3);
    expect(decode('{"kind":"ServiceList","metadata":{"resourceVersion":"1"},"items":null}').items).toEqual(
      [],
    );
    const object =
      '{"metadata":{"name":"a","namespace":"b","labels":{"items":"[{\\"x\\\\"}},"items":[{"items":[1]}]}';
    const { items, meta } = decode(
      ` { "items" : [ ${object} ,\n ${object} ] , "kind" : "ServiceList", "metadata":{"resourceVersion":"12","continue":"x"} } `,
    );
    expect(items.length).toBe(2);
    expect(meta).toMatchObject({ resourceVersion: '12', continue: 'x' });
    expect(() => decode('{"items":[1]}')).toThrow(DecodeError);
    expect(() => decode(']')).toThrow(DecodeError);
  });
});
