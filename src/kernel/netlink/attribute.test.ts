import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AttributeError } from './attribute-error.ts';
import { AttributeReader } from './attribute-reader.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { beginNetfilterMessage, endMessage, NLM_F_REQUEST, readMessages } from './message.ts';
import { diffLabelledHex, labelledHex } from './testing/labelled-hex.ts';

const readAll = (writer: AttributeWriter) => {
  const bytes = writer.finish();
  return new AttributeReader(bytes, 0, bytes.length, 'test');
};

describe('attributes', () => {
  test('each kind of value comes back, also across growth of the buffer', () => {
    const writer = new AttributeWriter(8);
    writer.addU8(1, 0xff);
    writer.addU16(2, 0x1234);
    writer.addU16be(3, 0x1234);
    writer.addU32(4, 0xdeadbeef);
    writer.addU32be(5, 0xdeadbeef);
    writer.addI32be(6, -110);
    writer.addU64be(7, 0x0123_4567_89ab_cdefn);
    writer.addString(8, 'kube-proxy');
    writer.addBytes(9, new Uint8Array([1, 2, 3]));
    writer.addFlag(10);
    const reader = readAll(writer);
    const values: unknown[] = [];
    const read = [
      () => reader.u8(),
      () => reader.u16(),
      () => reader.u16be(),
      () => reader.u32(),
      () => reader.u32be(),
      () => reader.i32be(),
      () => reader.u64be(),
      () => reader.string(),
      () => [...reader.copy()],
      () => reader.valueLength,
    ];
    while (reader.next()) values.push(read[reader.type - 1]!());
    expect(values).toEqual([
      0xff,
      0x1234,
      0x1234,
      0xdeadbeef,
      0xdeadbeef,
      -110,
      0x0123_4567_89ab_cdefn,
      'kube-proxy',
      [1, 2, 3],
      0,
    ]);
  });

  test('nested lists are patched in place and read back', () => {
    const writer = new AttributeWriter(16);
    const outer = writer.beginNested(1, 'outer');
    const inner = writer.beginNested(2, 'inner');
    writer.addString(3, 'x');
    writer.endNested(inner);
    writer.addU8(4, 7);
    writer.endNested(outer);
    const reader = readAll(writer);
    expect(reader.next()).toBe(true);
    const list = reader.nested('outer');
    expect(list.next()).toBe(true);
    const deep = list.nested('inner');
    expect(deep.next()).toBe(true);
    expect(deep.string()).toBe('x');
    expect(deep.next()).toBe(false);
    expect(list.next()).toBe(true);
    expect(list.u8()).toBe(7);
    expect(list.next()).toBe(false);
  });

  test('the first error sticks and names the path', () => {
    const writer = new AttributeWriter();
    const rule = writer.beginNested(1, 'rule');
    writer.enter('expressions');
    writer.enter(3);
    writer.addU8(1, 256);
    writer.leave();
    writer.leave();
    writer.addU16(2, -1);
    writer.endNested(rule);
    expect(() => writer.finish()).toThrow(
      expect.objectContaining({
        detail: {
          code: 'NETLINK_ATTRIBUTE_INVALID',
          path: 'rule.expressions[3]',
          reason: '256 is not a u8',
        },
      }),
    );
  });

  test('a list above 65535 bytes is refused', () => {
    const writer = new AttributeWriter();
    const list = writer.beginNested(1, 'elements');
    for (let i = 0; i < 9000; i++) writer.addU32be(1, i);
    writer.endNested(list);
    expect(() => writer.finish()).toThrow(/cannot encode elements: 72004 bytes/);
  });

  test('text with a NUL is refused', () => {
    const writer = new AttributeWriter();
    writer.addString(1, 'a\0b');
    expect(() => writer.finish()).toThrow(AttributeError);
  });

  test('a cut-off list or value is an error, not garbage', () => {
    const writer = new AttributeWriter();
    writer.addU32be(1, 5);
    const bytes = writer.finish();
    expect(() => new AttributeReader(bytes, 0, 6, 'cut').next()).toThrow(/cannot decode cut/);
    const reader = new AttributeReader(bytes, 0, 8, 'whole');
    reader.next();
    expect(() => reader.u64be()).toThrow(/8 bytes needed, 4 left/);
    expect(() => new AttributeReader(Buffer.from([2, 0, 1, 0]), 0, 4, 'tiny').next()).toThrow(AttributeError);
  });

  test('random bytes never make the reader loop or read outside', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (raw) => {
        const reader = new AttributeReader(Buffer.from(raw), 0, raw.length, 'random');
        try {
          while (reader.next())
            expect(reader.valueStart + reader.valueLength).toBeLessThanOrEqual(raw.length);
        } catch (error) {
          expect(error).toBeInstanceOf(AttributeError);
        }
      }),
    );
  });

  test('reset leaves no old bytes behind as padding', () => {
    const writer = new AttributeWriter();
    writer.addBytes(1, new Uint8Array(8).fill(0xff));
    writer.reset();
    writer.addU8(1, 1);
    expect(writer.finish().toString('hex')).toBe('0500010001000000');
  });
});

describe('messages', () => {
  const frame = () => {
    const writer = new AttributeWriter();
    for (const sequence of [1, 2]) {
      const token = beginNetfilterMessage(writer, { type: 0xa00, flags: NLM_F_REQUEST, sequence }, 2, 10);
      writer.addString(1, 'abc');
      endMessage(writer, token);
    }
    return writer.finish();
  };

  test('framing round trip', () => {
    const messages = [...readMessages(frame())];
    expect(messages.map((m) => [m.type, m.flags, m.sequence, m.portId, m.payload.length])).toEqual([
      [0xa00, 1, 1, 0, 12],
      [0xa00, 1, 2, 0, 12],
    ]);
    const reader = messages[1]!.attributes('table');
    expect(reader.next() && reader.string()).toBe('abc');
  });

  test('a message longer than the datagram is an error', () => {
    expect(() => [...readMessages(frame().subarray(0, 40))]).toThrow(AttributeError);
  });

  const golden = `
1c 00 00 00  NEWTABLE, length 28
00 0a 01 00  type 2560, flags 0x1
01 00 00 00  sequence 1
00 00 00 00  port 0
02 00 00 0a  family header
08 00 01 00    attribute 1, length 8
61 62 63 00      abc.
`.trimStart();

  test('labelled hex prints a frame and finds the word that differs', () => {
    const labels = { message: () => 'NEWTABLE' };
    const first = frame().subarray(0, 28);
    expect(labelledHex(first, labels)).toBe(golden);
    expect(diffLabelledHex(golden, first)).toBeUndefined();
    const other = Buffer.from(first);
    other[25] = 0x63;
    const marked = diffLabelledHex(golden, other)!
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(marked).toEqual([expect.stringMatching(/61 62 63 00.*61 63 63 00/)]);
  });
});
