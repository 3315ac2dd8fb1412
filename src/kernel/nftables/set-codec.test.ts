import { describe, expect, test } from 'vitest';
import { AttributeReader } from '../netlink/attribute-reader.ts';
import { AttributeWriter } from '../netlink/attribute-writer.ts';
import { layoutLength, layoutTypeId, layoutTypes } from './layout.ts';
import { setProperties } from './object-text.ts';
import type { NftMap, NftSet } from './objects.ts';
import {
  ctState,
  ipDaddr,
  ipSaddr,
  metaL4proto,
  metaMark,
  numgenRandom,
  type Selector,
  thDport,
} from './selector/selector.ts';
import { decodeTypeof, encodeTypeof } from './selector/selector-userdata.ts';
import { decodeSet, encodeSet } from './set-codec.ts';
import { sampleSets } from './testing/sample-ruleset.ts';

function roundTrip(set: NftSet | NftMap, anonymous = false) {
  const writer = new AttributeWriter(64);
  encodeSet(writer, 'kube-proxy', set, 1, anonymous);
  const bytes = writer.finish();
  return decodeSet(new AttributeReader(bytes, 0, bytes.length, 'set'));
}

describe('sets and maps', () => {
  const sets = (['ip', 'ip6'] as const).flatMap((family) => Object.values(sampleSets(family)));
  test.each(sets.map((set) => [set.name, JSON.stringify(set.key), set] as const))(
    '%s with key %s comes back',
    (_, __, set) => {
      const decoded = roundTrip(set);
      expect(decoded.table).toBe('kube-proxy');
      expect(decoded.anonymous).toBe(false);
      expect(setProperties(decoded.set)).toEqual(setProperties(set));
      const sorted = (of: NftSet | NftMap) => ({ ...of, flags: [...(of.flags ?? [])].sort() });
      expect(sorted(decoded.set)).toEqual(sorted(set));
    },
  );

  test('sets written in place are marked', () => {
    const set = {
      kind: 'set',
      name: '__set%d',
      key: { typeof: [ipSaddr] },
      flags: ['constant', 'interval'],
    } as const;
    expect(roundTrip(set, true)).toMatchObject({ anonymous: true, set });
  });

  test('lengths and numbers of layouts: fields of concatenations are padded', () => {
    expect(layoutLength(['inet_proto'])).toBe(1);
    expect(layoutLength(['inet_proto', 'inet_service'])).toBe(8);
    expect(layoutLength(layoutTypes({ typeof: [ipDaddr, metaL4proto, thDport, numgenRandom(2)] }))).toBe(16);
    expect(layoutTypeId(['ipv4_addr', 'inet_proto', 'inet_service']).toString(16)).toBe('730d');
  });

  test('types that are not known here leave a layout without fields, and the lengths', () => {
    const writer = new AttributeWriter(64);
    writer.addString(2, 'macs');
    writer.addU32be(4, 9);
    writer.addU32be(5, 6);
    const bytes = writer.finish();
    const decoded = decodeSet(new AttributeReader(bytes, 0, bytes.length, 'set'));
    expect(decoded).toMatchObject({ keyLength: 6, set: { kind: 'set', key: { type: [] } } });
  });

  test('a long comment is cut further where the key description is long', () => {
    const set: NftMap = {
      kind: 'map',
      name: 'm',
      key: { typeof: [ipDaddr, ipSaddr, metaL4proto, thDport, numgenRandom(2)] },
      data: { typeof: [ipDaddr, thDport] },
      comment: 'x'.repeat(127),
    };
    const { comment } = roundTrip(set).set;
    expect(comment).toMatch(/^x{20,80}$/);
  });

  test('concatenated intervals and keys without fields are refused', () => {
    expect(() =>
      roundTrip({ kind: 'set', name: 's', key: { type: ['ipv4_addr', 'inet_proto'] }, flags: ['interval'] }),
    ).toThrow(/cannot encode key: intervals have one field/);
    expect(() => roundTrip({ kind: 'set', name: 's', key: { type: [] } })).toThrow(/at least one field/);
  });

  test('a concatenation nft could not list is refused, naming the set', () => {
    expect(() => roundTrip({ kind: 'set', name: 'odd', key: { typeof: [ctState, ipSaddr] } })).toThrow(
      /set odd/,
    );
  });
});

describe('what nft remembers of a key', () => {
  test.each<[readonly Selector[]]>([
    [[ipDaddr]],
    [[metaMark]],
    [[numgenRandom(3)]],
    [[ipDaddr, metaL4proto, thDport, { kind: 'numgen', mode: 'inc', mod: 9, offset: 4 }]],
  ])('%j comes back', (selectors) => expect(decodeTypeof(encodeTypeof(selectors)!)).toEqual(selectors));

  test('other user data is no description', () => {
    expect(decodeTypeof(Buffer.alloc(0))).toBeUndefined();
    expect(decodeTypeof(Buffer.from([0, 4, 13, 0, 0, 0, 1, 0]))).toBeUndefined();
    expect(decodeTypeof(Buffer.from([0, 4, 7]))).toBeUndefined();
    const cut = encodeTypeof([ipDaddr, thDport])!;
    for (let end = 0; end < cut.length; end++) expect(decodeTypeof(cut.subarray(0, end))).toBeUndefined();
  });
});
