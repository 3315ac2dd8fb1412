import { describe, expect, test } from 'vitest';
import { AttributeReader } from '../../netlink/attribute-reader.ts';
import { AttributeWriter } from '../../netlink/attribute-writer.ts';
import { decodeExpr, EXPR_CODECS, type Expr, encodeExpr } from './expr.ts';
import { registerNumber, registerSlot, SLOTS } from './register.ts';

const bytes = (...values: number[]) => Buffer.from(values);

const rows: readonly Expr[] = [
  { kind: 'payload', base: 1, offset: 12, length: 4, dreg: 0 },
  { kind: 'payload', base: 2, offset: 2, length: 2, dreg: 5 },
  { kind: 'meta', key: 16, dreg: 1 },
  { kind: 'meta', key: 3, sreg: 4 },
  { kind: 'ct', key: 0, dreg: 0 },
  { kind: 'fib', result: 3, flags: 2, dreg: 0 },
  { kind: 'numgen', mode: 1, modulus: 7, offset: 3, dreg: 3 },
  { kind: 'cmp', op: 'eq', sreg: 0, data: bytes(6) },
  { kind: 'cmp', op: 'gte', sreg: 2, data: bytes(1, 2, 3, 4) },
  { kind: 'range', op: 'neq', sreg: 0, from: bytes(0, 1), to: bytes(1, 0) },
  { kind: 'bitwise', sreg: 0, dreg: 1, mask: bytes(255, 255, 128, 0), xor: bytes(0, 0, 0, 1) },
  { kind: 'lookup', set: 'cluster-ips', sreg: 0 },
  { kind: 'lookup', set: 'ranges', sreg: 0, inverted: true },
  { kind: 'lookup', set: 'service-ips', sreg: 0, dreg: 'verdict' },
  { kind: 'lookup', set: 'endpoints', sreg: 4, dreg: 0 },
  { kind: 'immediate', verdict: 'drop' },
  { kind: 'immediate', verdict: 'goto a/b' },
  { kind: 'immediate', dreg: 4, data: bytes(0, 80) },
  { kind: 'nat', type: 'dnat', family: 2, address: 0, port: 1, flags: 16 },
  { kind: 'nat', type: 'snat', family: 10, address: 0, flags: 0 },
  { kind: 'masq', flags: 16 },
  { kind: 'masq', flags: 0 },
  { kind: 'reject', type: 0, code: 3 },
  { kind: 'reject', type: 1, code: 0 },
  { kind: 'dynset', set: 'affinity', op: 'update', keyReg: 0 },
  { kind: 'dynset', set: 'clients', op: 'add', keyReg: 0, dataReg: 4, timeoutMs: 5000 },
  { kind: 'counter', packets: 3n, bytes: 2n ** 40n },
  { kind: 'unknown', name: 'quota', raw: bytes(8, 0, 1, 0, 0, 0, 0, 1) },
];

function roundTrip(expr: Expr): Expr {
  const writer = new AttributeWriter(64);
  encodeExpr(writer, expr);
  const encoded = writer.finish();
  return decodeExpr(new AttributeReader(encoded, 0, encoded.length, 'expression'));
}

describe('kernel expressions', () => {
  test.each(
    rows.map((expr) => [JSON.stringify(expr, (_, v) => (typeof v === 'bigint' ? `${v}` : v)), expr] as const),
  )('%s comes back', (_, expr) => expect(roundTrip(expr)).toEqual(expr));

  test('every kind has a row', () => {
    const kinds = new Set(rows.map((expr) => expr.kind));
    expect(
      [...Object.keys(EXPR_CODECS), 'unknown'].filter((kind) => !kinds.has(kind as Expr['kind'])),
    ).toEqual([]);
  });

  test('a set number is sent and never received', () => {
    const { setId: _, ...received } = { kind: 'lookup', set: '__set%d', setId: 7, sreg: 0 } as const;
    expect(roundTrip({ ...received, setId: 7 })).toMatchObject(received);
  });

  test.each([
    ['payload', 'writes to the packet', [1, 1], [5, 1]],
    ['nat', 'has a range of ports', [1, 1], [2, 2], [5, 1], [6, 2]],
    ['bitwise', 'shifts', [1, 1], [2, 1], [3, 4], [6, 1]],
    ['ct', 'has a direction', [1, 1], [2, 8], [3, 0]],
    ['dynset', 'has expressions of its own', [4, 1], [3, 0], [7, 0]],
  ])('%s that %s is unknown, with its bytes', (name, _, ...attributes) => {
    const writer = new AttributeWriter(64);
    for (const [type, value] of attributes as number[][]) writer.addU32be(type!, value!);
    const raw = Buffer.from(writer.finish());
    const expr = { kind: 'unknown', name: name as string, raw } as const;
    expect(roundTrip(expr)).toEqual(expr);
  });

  test('a modulus of 0 is refused with its path', () => {
    const writer = new AttributeWriter(64);
    encodeExpr(writer, { kind: 'numgen', mode: 1, modulus: 0, offset: 0, dreg: 0 });
    expect(() => writer.finish()).toThrow(/cannot encode numgen.modulus/);
  });
});

test('registers: 16 byte names where they exist, 4 byte names elsewhere', () => {
  expect([0, 1, 4, 5, 12, 15].map(registerNumber)).toEqual([1, 9, 2, 13, 4, 23]);
  for (let slot = 0; slot < SLOTS; slot++) expect(registerSlot(registerNumber(slot))).toBe(slot);
  expect([8, 12, 16, 20].map(registerSlot)).toEqual([0, 4, 8, 12]);
});
