import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AttributeReader } from '../netlink/attribute-reader.ts';
import { AttributeWriter } from '../netlink/attribute-writer.ts';
import { decodeElements } from './element-decoder.ts';
import { encodeElements, estimateElements } from './element-encoder.ts';
import { elementText } from './element-text.ts';
import type { NftMap, NftSet } from './objects.ts';
import { PackedElements } from './packed-elements.ts';
import { ip6Daddr, ipDaddr, metaL4proto, numgenRandom, thDport } from './selector/selector.ts';
import type { Verdict } from './verdict.ts';

const endpoints: NftMap = {
  kind: 'map',
  name: 'endpoints',
  key: { typeof: [ipDaddr, metaL4proto, thDport, numgenRandom(2)] },
  data: { typeof: [ipDaddr, thDport] },
};
const verdicts: NftMap = {
  kind: 'map',
  name: 'verdicts',
  key: { type: ['inet_proto', 'inet_service'] },
  data: 'verdict',
};
const protocols: NftSet = { kind: 'set', name: 'protocols', key: { type: ['inet_proto'] } };
const affinity: NftSet = { kind: 'set', name: 'affinity', key: { type: ['ipv4_addr'] }, flags: ['timeout'] };

/** Encodes in as many messages as it takes, and decodes them all. */
function roundTrip(of: NftSet | NftMap, rows: PackedElements, keysOnly = false) {
  const back = PackedElements.for(of);
  let messages = 0;
  for (let from = 0; from < rows.count; messages++) {
    const writer = new AttributeWriter(64);
    const next = encodeElements(writer, rows, from, keysOnly);
    expect(next).toBeGreaterThan(from);
    from = next;
    const bytes = writer.finish();
    expect(bytes.length).toBeLessThanOrEqual(65_536);
    decodeElements(new AttributeReader(bytes, 0, bytes.length, 'elements'), back);
  }
  return { back, messages };
}

const texts = (of: NftSet | NftMap, rows: PackedElements) =>
  Array.from({ length: rows.count }, (_, row) => elementText(of, rows, row));

describe('rows', () => {
  test('fields are laid out as registers are, and printed by the key type', () => {
    const rows = PackedElements.for(endpoints, 1);
    rows.begin().address('10.96.0.1').protocol(6).port(80).number(3).address('10.0.0.200').port(8080);
    expect([rows.keyLength, rows.dataLength, rows.rowLength]).toEqual([16, 8, 24]);
    const host = Buffer.from(new Uint8Array(new Uint32Array([3]).buffer)).toString('hex');
    expect(rows.key(0).toString('hex')).toBe(`0a600001${'06000000'}${'00500000'}${host}`);
    expect(rows.data(0).toString('hex')).toBe('0a0000c81f900000');
    expect(texts(endpoints, rows)).toEqual(['10.96.0.1 . tcp . 80 . 3 : 10.0.0.200 . 8080']);
  });

  test('single fields are not padded, IPv6 addresses take four registers', () => {
    const small = PackedElements.for(protocols).begin().protocol(132);
    expect([small.keyLength, small.rowLength, small.key(0).toString('hex')]).toEqual([1, 4, '84']);
    const six: NftMap = {
      kind: 'map',
      name: 'six',
      key: { typeof: [ip6Daddr] },
      data: { type: ['inet_service'] },
    };
    const rows = PackedElements.for(six).begin().address('fd00::1').port(80);
    expect(texts(six, rows)).toEqual(['fd00::1 : 80']);
    expect(elementText(six, PackedElements.for(six).begin().address(Buffer.alloc(16)).port(1), 0)).toBe(
      ':: : 1',
    );
  });

  test('text that is no address is refused', () => {
    expect(() => PackedElements.for(affinity).begin().address('10.0.0')).toThrow(RangeError);
    expect(() => PackedElements.for(affinity).begin().address('nonsense')).toThrow(RangeError);
  });

  test('rows of another layout cannot be appended', () => {
    const rows = PackedElements.for(protocols).begin().protocol(6);
    expect(() => PackedElements.for(endpoints).append(rows, 0)).toThrow(/same layout/);
  });
});

describe('elements as messages', () => {
  test('a hundred thousand plain rows come back from messages below 64 KiB, in a buffer of the estimated size', () => {
    const rows = PackedElements.for(endpoints, 10);
    for (let i = 0; i < 100_000; i++) {
      rows
        .begin()
        .address('10.96.0.1')
        .protocol(6)
        .port(i >> 8)
        .number(i & 255)
        .address('10.0.0.1')
        .port(i & 0xffff);
    }
    const { back, messages } = roundTrip(endpoints, rows);
    expect(back.count).toBe(100_000);
    expect(Buffer.compare(back.bytes.subarray(0, 2_400_000), rows.bytes.subarray(0, 2_400_000))).toBe(0);
    expect(messages).toBe(Math.ceil(100_000 / Math.floor(65_531 / 44)));
    const writer = new AttributeWriter(estimateElements(rows));
    const capacity = writer.bytes.length;
    for (let from = 0; from < rows.count; ) from = encodeElements(writer, rows, from, false);
    expect(writer.bytes.length).toBe(capacity);
    expect(writer.length).toBeGreaterThan(capacity * 0.9);
  });

  test('any rows with any extras come back', () => {
    const chain = fc.stringMatching(/^[a-zA-Z0-9/.-]{1,255}$/);
    const verdict = fc.oneof(
      fc.constantFrom<Verdict>('drop', 'accept'),
      chain.map((name): Verdict => `goto ${name}`),
    );
    const extra = fc.record({
      port: fc.integer({ min: 0, max: 0xffff }),
      verdict,
      comment: fc.option(fc.string({ maxLength: 140 }), { nil: undefined }),
      timeout: fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: undefined }),
      packets: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(extra, { maxLength: 400 }), (list) => {
        const rows = PackedElements.for(verdicts);
        for (const { port, verdict: to, comment, timeout, packets } of list) {
          rows.begin().protocol(6).port(port).verdict(to);
          if (comment !== undefined) rows.comment(comment);
          if (timeout !== undefined) rows.timeout(timeout, timeout);
          if (packets !== undefined) {
            rows.counters ??= [];
            rows.counters[rows.count - 1] = { packets, bytes: 1n };
          }
        }
        expect(texts(verdicts, roundTrip(verdicts, rows).back)).toEqual(texts(verdicts, rows));
      }),
      { numRuns: 50 },
    );
  });

  test('the longest rows fit, and split where a message is full', () => {
    const rows = PackedElements.for(verdicts);
    for (let port = 0; port < 500; port++) {
      rows
        .begin()
        .protocol(6)
        .port(port)
        .verdict(`goto ${'c'.repeat(250)}${port}`)
        .comment('x'.repeat(127));
    }
    const { back, messages } = roundTrip(verdicts, rows);
    expect(messages).toBeGreaterThan(3);
    expect(texts(verdicts, back)).toEqual(texts(verdicts, rows));
  });

  test('an element with the life time of its set keeps what is left of it', () => {
    const rows = PackedElements.for(affinity).begin().address('10.0.0.1');
    rows.expirationsMs = [1234];
    const { back } = roundTrip(affinity, rows);
    expect([back.timeoutsMs, back.expirationsMs]).toEqual([undefined, [1234]]);
    expect(PackedElements.for(affinity).append(back, 0).expirationsMs).toEqual([1234]);
  });

  test('deletions carry keys only', () => {
    const rows = PackedElements.for(verdicts).begin().protocol(6).port(80).verdict('drop').comment('gone');
    const writer = new AttributeWriter(64);
    encodeElements(writer, rows, 0, true);
    expect(writer.finish()).toHaveLength(4 + 4 + 4 + 4 + 8);
    const marked = PackedElements.for(affinity).begin().address('10.0.0.1');
    marked.flags = [1];
    expect(roundTrip(affinity, marked, true).back.flags).toEqual([1]);
  });

  test('times left and counters are printed when asked for', () => {
    const rows = PackedElements.for(affinity).begin().address('10.0.0.1').timeout(90_000, 1500.2);
    rows.counters = [{ packets: 3n, bytes: 180n }];
    expect(elementText(affinity, rows, 0)).toBe(
      '10.0.0.1 timeout 1m30s expires 1s501ms counter packets 3 bytes 180',
    );
    expect(elementText(affinity, rows, 0, { state: false })).toBe('10.0.0.1');
  });

  test('cut-off elements are an error', () => {
    const writer = new AttributeWriter(64);
    encodeElements(writer, PackedElements.for(endpoints).begin(), 0, false);
    const bytes = Buffer.from(writer.finish());
    bytes[4] = 60;
    const read = () =>
      decodeElements(new AttributeReader(bytes, 0, bytes.length, 'elements'), PackedElements.for(endpoints));
    expect(read).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'NETLINK_ATTRIBUTE_SHORT' }) }),
    );
    bytes[4] = 44;
    bytes[12] = 16;
    expect(read).toThrow(/element value/);
  });
});
