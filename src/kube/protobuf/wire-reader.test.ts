import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProtobufWriter } from '../../../test/cluster/encoding/protobuf-writer.ts';
import { DecodeError } from '../decode-error.ts';
import { WireReader } from './wire-reader.ts';

const reader = (hex: string) => new WireReader(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const thrown = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof DecodeError) return error.detail;
    throw error;
  }
  return undefined;
};

describe('WireReader', () => {
  test('int32 and int64 read what a writer wrote', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.maxSafeInteger(),
        fc.integer({ min: 1, max: 2 ** 28 - 1 }),
        (int, long, field) => {
          const writer = new ProtobufWriter();
          writer.int(field, int);
          writer.int(field, long);
          const read = new WireReader(writer.finish());
          expect(read.next()).toBe(field);
          expect(read.int32()).toBe(int);
          expect(read.next()).toBe(field);
          expect(read.int64()).toBe(long);
          expect(read.next()).toBe(0);
        },
      ),
    );
  });

  test('strings own their bytes', () => {
    const writer = new ProtobufWriter();
    writer.string(1, 'grüße');
    writer.string(1, 'plain');
    const bytes = writer.finish();
    const read = new WireReader(bytes);
    read.next();
    const first = read.string();
    read.next();
    const second = read.sharedString();
    bytes.fill(0);
    expect([first, second]).toEqual(['grüße', 'plain']);
  });

  test('errors name the offset', () => {
    const next = (hex: string, then: (read: WireReader) => unknown = (read) => read.skip()) =>
      thrown(() => {
        const read = reader(hex);
        read.next();
        then(read);
      });
    expect(next('0a')).toEqual({ code: 'DECODE_TRUNCATED', offset: 1 });
    expect(next('0a 05 61')).toEqual({ code: 'DECODE_TRUNCATED', offset: 3 });
    expect(next('08 ff')).toEqual({ code: 'DECODE_TRUNCATED', offset: 2 });
    expect(next('08 ffffffffffffffffffff01')).toEqual({ code: 'DECODE_VARINT_TOO_LONG', offset: 1 });
    expect(next('0d 000000')).toEqual({ code: 'DECODE_TRUNCATED', offset: 4 });
    expect(next('09 00000000000000')).toEqual({ code: 'DECODE_TRUNCATED', offset: 8 });
    expect(next('0b')).toEqual({ code: 'DECODE_WIRE_TYPE', offset: 1, field: 1, wireType: 3 });
    expect(next('02')).toEqual({ code: 'DECODE_WIRE_TYPE', offset: 0, field: 0, wireType: 2 });
    expect(next('08 01', (read) => read.string())).toEqual({
      code: 'DECODE_WIRE_TYPE',
      offset: 1,
      field: 1,
      wireType: 0,
    });
    expect(next('0a 01 61', (read) => read.int32())).toEqual({
      code: 'DECODE_WIRE_TYPE',
      offset: 1,
      field: 1,
      wireType: 2,
    });
    // A nested message cannot reach beyond the one around it.
    expect(
      next('0a 02 0a 05 61 62 63 64 65', (read) => {
        read.enter();
        read.next();
        read.string();
      }),
    ).toEqual({ code: 'DECODE_TRUNCATED', offset: 4 });
  });

  test('skips every wire type', () => {
    const read = reader('08 ff01 11 0000000000000000 1a 02 6161 25 00000000 28 01');
    const fields: number[] = [];
    for (let field = read.next(); field !== 0; field = read.next()) {
      fields.push(field);
      read.skip();
    }
    expect(fields).toEqual([1, 2, 3, 4, 5]);
  });
});
