import { describe, expect, test } from 'vitest';
import { AttributeReader } from '../../netlink/attribute-reader.ts';
import { AttributeWriter } from '../../netlink/attribute-writer.ts';
import { decodeExpr, type Expr, encodeExpr } from '../expr/expr.ts';
import type { Family } from '../objects.ts';
import {
  ctState,
  fibSaddrType,
  ip6Saddr,
  ipDaddr,
  ipSaddr,
  metaIifname,
  metaL4proto,
  metaMark,
  numgenRandom,
  thDport,
} from '../selector/selector.ts';
import { sampleRules } from '../testing/sample-ruleset.ts';
import { RuleBuilder } from './rule-builder.ts';
import {
  compileStatements,
  recognizeStatements,
  STATEMENT_CODECS,
  type Statement,
  statementsText,
} from './statement.ts';

const match = (
  left: Extract<Statement, { kind: 'match' }>['left'],
  right: Extract<Statement, { kind: 'match' }>['right'],
) => ({ kind: 'match', left, op: '==', right }) as const;

/** Statement, family, text. The text of what is read back has to be the same. */
const rows: readonly (readonly [Statement, Family, string])[] = [
  [match([ipSaddr], '10.0.0.7'), 'ip', 'ip saddr 10.0.0.7'],
  [match([ipSaddr], '10.0.0.7/32'), 'ip', 'ip saddr 10.0.0.7'],
  [match([ipSaddr], '10.1.2.3/8'), 'ip', 'ip saddr 10.0.0.0/8'],
  [match([ipSaddr], '10.128.0.0/9'), 'ip', 'ip saddr 10.128.0.0/9'],
  [match([ipSaddr], '10.0.0.1-10.0.0.9'), 'ip', 'ip saddr 10.0.0.1-10.0.0.9'],
  [match([ipSaddr], '0.0.0.0/0'), 'ip', 'ip saddr 0.0.0.0/0'],
  [match([ip6Saddr], '::/0'), 'ip6', 'ip6 saddr ::/0'],
  [match([ipSaddr], { values: ['0.0.0.0/1', '128.0.0.0/1'] }), 'ip', 'ip saddr 0.0.0.0/0'],
  [match([ip6Saddr], 'fd00::/8'), 'ip6', 'ip6 saddr fd00::/8'],
  [match([ip6Saddr], 'fd00:10::/33'), 'ip6', 'ip6 saddr fd00:10::/33'],
  [match([ip6Saddr], '::1'), 'ip6', 'ip6 saddr ::1'],
  [{ ...match([ipSaddr], { set: 'a-set' }), op: '!=' }, 'ip', 'ip saddr != @a-set'],
  [match([ipSaddr, thDport], { set: 's' }), 'ip', 'ip saddr . th dport @s'],
  [match([ipSaddr], { values: ['10.0.0.0/24'] }), 'ip', 'ip saddr 10.0.0.0/24'],
  [match([ipSaddr], { values: ['10.0.1.0/24', '10.0.0.0/24'] }), 'ip', 'ip saddr 10.0.0.0/23'],
  [match([ipSaddr], { values: ['10.0.1.0/24', '10.0.2.0/24'] }), 'ip', 'ip saddr 10.0.1.0-10.0.2.255'],
  [match([ipSaddr], { values: ['10.0.0.2', '10.0.0.1'] }), 'ip', 'ip saddr { 10.0.0.1, 10.0.0.2 }'],
  [match([ipSaddr], { values: ['0.0.0.0/8', '9.9.9.9'] }), 'ip', 'ip saddr { 0.0.0.0/8, 9.9.9.9 }'],
  [match([thDport], { values: [443, 80] }), 'ip', 'th dport { 80, 443 }'],
  [match([thDport], { values: ['8000-8080', 443] }), 'ip', 'th dport { 443, 8000-8080 }'],
  [match([thDport], 80), 'ip', 'th dport 80'],
  [match([metaL4proto], 'sctp'), 'ip', 'meta l4proto sctp'],
  [match([metaL4proto], 47), 'ip', 'meta l4proto 47'],
  [match([metaIifname], 'veth*'), 'ip', 'iifname "veth*"'],
  [match([metaIifname], 'exactly15bytes_'), 'ip', 'iifname "exactly15bytes_"'],
  [match([ctState], 'related,new'), 'ip', 'ct state related,new'],
  [match([fibSaddrType], 'local'), 'ip', 'fib saddr type local'],
  [match([metaMark], 7), 'ip', 'meta mark 0x00000007'],
  [{ kind: 'match', left: [metaMark], mask: 0x4000, op: '!=', right: 0 }, 'ip', 'mark and 0x00004000 != 0'],
  [
    { kind: 'match', left: [metaMark], mask: 0x4000, op: '==', right: 0x4000 },
    'ip6',
    'mark and 0x00004000 == 0x00004000',
  ],
  [{ kind: 'verdict', verdict: 'jump services' }, 'ip', 'jump services'],
  [{ kind: 'vmap', key: [ipDaddr, metaL4proto], map: { set: 'm' } }, 'ip', 'ip daddr . meta l4proto vmap @m'],
  [
    {
      kind: 'vmap',
      key: [thDport],
      map: {
        verdicts: [
          [443, 'drop'],
          [80, 'goto a'],
        ],
      },
    },
    'ip',
    'th dport vmap { 80 : goto a, 443 : drop }',
  ],
  [{ kind: 'mark', op: 'or', value: 0x8000_0000 }, 'ip', 'mark set mark or 0x80000000'],
  [{ kind: 'mark', op: 'xor', value: 1 }, 'ip', 'mark set mark xor 0x00000001'],
  [{ kind: 'mark', op: 'and', value: 1 }, 'ip', 'mark set mark and 0x00000001'],
  [{ kind: 'mark', op: 'set', value: 1 }, 'ip', 'mark set 0x00000001'],
  [{ kind: 'counter' }, 'ip', 'counter'],
  [{ kind: 'reject' }, 'ip6', 'reject'],
  [{ kind: 'reject', with: 'tcp reset' }, 'ip', 'reject with tcp reset'],
  [{ kind: 'masquerade' }, 'ip', 'masquerade'],
  [{ kind: 'masquerade', flags: ['persistent', 'random'] }, 'ip', 'masquerade random,persistent'],
  [{ kind: 'dnat', to: { address: '10.0.0.1', port: 80 } }, 'ip', 'dnat to 10.0.0.1:80'],
  [{ kind: 'dnat', to: { address: 'fd00::1', port: 80 } }, 'ip6', 'dnat to [fd00::1]:80'],
  [{ kind: 'dnat', to: { address: 'fd00::1' }, flags: ['random'] }, 'ip6', 'dnat to fd00::1 random'],
  [{ kind: 'dnat', to: { key: [thDport], map: { set: 'm' } } }, 'ip6', 'dnat ip6 to th dport map @m'],
  [
    { kind: 'dnat', to: { key: [thDport], map: { set: 'm' }, port: false } },
    'ip',
    'dnat ip to th dport map @m',
  ],
  [
    {
      kind: 'dnat',
      to: {
        key: [numgenRandom(2)],
        map: {
          addresses: [
            [1, '10.0.0.2', 80],
            [0, '10.0.0.1', 81],
          ],
        },
      },
    },
    'ip',
    'dnat ip addr . port to numgen random mod 2 map { 0 : 10.0.0.1 . 81, 1 : 10.0.0.2 . 80 }',
  ],
  [
    { kind: 'dnat', to: { key: [thDport], map: { addresses: [[80, '10.0.0.2']] }, port: false } },
    'ip',
    'dnat ip to th dport map { 80 : 10.0.0.2 }',
  ],
  [{ kind: 'update', op: 'update', set: 's', key: [ipSaddr] }, 'ip', 'update @s { ip saddr }'],
  [
    { kind: 'update', op: 'add', set: 's', key: [ipSaddr, thDport], timeoutMs: 1500 },
    'ip',
    'add @s { ip saddr . th dport timeout 1s500ms }',
  ],
  [
    { kind: 'update', op: 'update', set: 's', key: [ipSaddr], data: [ipDaddr, thDport] },
    'ip',
    'update @s { ip saddr : ip daddr . th dport }',
  ],
  [
    { kind: 'update', op: 'update', set: 's', key: [ip6Saddr], data: [thDport] },
    'ip6',
    'update @s { ip6 saddr : th dport }',
  ],
  [{ kind: 'unknown', name: 'quota', raw: Buffer.from([1, 2]) }, 'ip', '[ quota 0102 ]'],
];

/** Compiles, sends over the wire, reads back. */
function roundTrip(statements: readonly Statement[], family: Family): Statement[] {
  let id = 0;
  const builder = new RuleBuilder(family, () => ++id);
  compileStatements(builder, statements);
  const exprs = builder.exprs.map((expr): Expr => {
    const writer = new AttributeWriter(64);
    // The kernel numbers the sets it names itself.
    encodeExpr(
      writer,
      expr.kind === 'lookup' && expr.setId !== undefined ? { ...expr, set: `__set${expr.setId}` } : expr,
    );
    const bytes = writer.finish();
    return decodeExpr(new AttributeReader(bytes, 0, bytes.length, 'expression'));
  });
  return recognizeStatements(family, exprs, (name) =>
    builder.anonymous.find((definition) => name === `__set${definition.id}`),
  );
}

describe('statements', () => {
  test.each(rows)('%j in family %s is %s', (statement, family, text) => {
    expect(statementsText([statement], family)).toBe(text);
    const back = roundTrip([statement], family);
    expect(statementsText(back, family)).toBe(text);
    expect(back).toHaveLength(1);
    expect(back[0]?.kind).toBe(statement.kind);
    // What was read is in canonical form already.
    expect(roundTrip(back, family)).toEqual(back);
  });

  test('every kind has a row', () => {
    const kinds = new Set(rows.map(([statement]) => statement.kind));
    const missing = Object.keys(STATEMENT_CODECS).filter((kind) => !kinds.has(kind as Statement['kind']));
    expect(missing).toEqual([]);
  });

  test.each(['ip', 'ip6'] as const)(
    'rules of several statements come apart where they were joined (%s)',
    (family) => {
      for (const { statements } of sampleRules(family)) {
        const back = roundTrip(statements, family);
        expect(statementsText(back, family)).toBe(statementsText(statements, family));
        expect(back.map(({ kind }) => kind)).toEqual(statements.map(({ kind }) => kind));
      }
    },
  );

  test('counters that have counted are read with their values and described without', () => {
    const back = roundTrip([{ kind: 'counter', packets: 5n, bytes: 300n }], 'ip');
    expect(back).toEqual([{ kind: 'counter', packets: 5n, bytes: 300n }]);
    expect(statementsText(back, 'ip')).toBe('counter');
  });

  test('the pair of comparisons nft makes of a range is the range', () => {
    const exprs: Expr[] = [
      { kind: 'payload', base: 2, offset: 2, length: 2, dreg: 0 },
      { kind: 'cmp', op: 'gte', sreg: 0, data: Buffer.from([0, 80]) },
      { kind: 'cmp', op: 'lte', sreg: 0, data: Buffer.from([0, 90]) },
    ];
    expect(
      statementsText(
        recognizeStatements('ip', exprs, () => undefined),
        'ip',
      ),
    ).toBe('th dport 80-90');
  });

  test('expressions that fit no statement stay, each as unknown', () => {
    const exprs: Expr[] = [
      { kind: 'payload', base: 1, offset: 1, length: 1, dreg: 0 },
      { kind: 'cmp', op: 'lt', sreg: 0, data: Buffer.from([4]) },
      { kind: 'immediate', verdict: 'drop' },
    ];
    const statements = recognizeStatements('ip', exprs, () => undefined);
    expect(statements.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'verdict']);
    const builder = new RuleBuilder('ip', () => 1);
    compileStatements(builder, statements);
    expect(builder.exprs.map((expr) => (expr.kind === 'unknown' ? expr.name : expr.kind))).toEqual([
      'payload',
      'cmp',
      'immediate',
    ]);
  });

  test('a lookup in a set written in place that cannot be resolved is unknown, not empty', () => {
    const exprs: Expr[] = [
      { kind: 'meta', key: 16, dreg: 0 },
      { kind: 'lookup', set: '__set3', sreg: 0 },
    ];
    expect(recognizeStatements('ip', exprs, () => undefined).map(({ kind }) => kind)).toEqual([
      'unknown',
      'unknown',
    ]);
  });
});

describe('values that are none are refused', () => {
  test.each<[string, Statement, Family?]>([
    ['an address of the other family', match([ipSaddr], 'fd00::1')],
    ['a field of the other family', match([ip6Saddr], '::1')],
    ['an unknown protocol', match([metaL4proto], 'quic')],
    ['an interface name that is too long', match([metaIifname], 'sixteen-bytes-xx')],
    ['an empty prefix of an interface name', match([metaIifname], '*')],
    ['an unknown state', match([ctState], 'newish')],
    ['a state that must not be', { ...match([ctState], 'new'), op: '!=' }],
    ['a mask for an address', { ...match([ipSaddr], '10.0.0.1'), mask: 1 }],
    ['a constant for a concatenation', match([ipSaddr, thDport], '10.0.0.1')],
    ['an empty set', match([ipSaddr], { values: [] })],
    ['a set with a wrong value', match([ipSaddr], { values: ['10.0.0.1', '10.0.0.256'] })],
    ['a range that runs backwards', match([ipSaddr], '10.0.0.9-10.0.0.1')],
    ['a port above 65535', { kind: 'dnat', to: { address: '10.0.0.1', port: 65_536 } }],
    ['an IPv4 destination for IPv6', { kind: 'dnat', to: { address: '10.0.0.1' } }, 'ip6'],
    [
      'a map with a port here and none there',
      {
        kind: 'dnat',
        to: {
          key: [thDport],
          map: {
            addresses: [
              [1, '10.0.0.1', 1],
              [2, '10.0.0.2'],
            ],
          },
        },
      },
    ],
    ['a verdict that is none', { kind: 'verdict', verdict: 'jump ' as 'drop' }],
  ])('%s', (_, statement, family = 'ip') => {
    const builder = new RuleBuilder(family, () => 1);
    expect(() => compileStatements(builder, [statement])).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'NFT_VALUE_INVALID' }) }),
    );
  });
});
