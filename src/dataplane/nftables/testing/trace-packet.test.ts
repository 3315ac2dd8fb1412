import { describe, expect, test } from 'vitest';
import type { BaseChain, NftMap, NftSet } from '../../../kernel/nftables/objects.ts';
import { PackedElements } from '../../../kernel/nftables/packed-elements.ts';
import {
  ctState,
  ctStatus,
  fibDaddrType,
  fibSaddrType,
  ip6Saddr,
  ipDaddr,
  ipSaddr,
  metaIifname,
  metaL4proto,
  metaMark,
  metaOifname,
  numgenRandom,
  thDport,
} from '../../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../../kernel/nftables/statement/statement.ts';
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts';
import { Transaction } from '../../../kernel/nftables/transaction.ts';
import type { Verdict } from '../../../kernel/nftables/verdict.ts';
import { outcomeText, type TracedPacket, tracePacket } from './trace-packet.ts';

const POD = '10.0.0.9';
const NODE = '192.168.0.2';
const VIP = '10.96.0.1';
const node = { localAddresses: new Set([NODE]) };
const packet: TracedPacket = { from: POD, to: VIP, protocol: 'tcp', port: 80 };

const verdict = (text: Verdict): Statement => ({ kind: 'verdict', verdict: text });
const dnat = (address: string, port: number): Statement => ({ kind: 'dnat', to: { address, port } });
const dropped = verdict('drop');

/** A table under construction: base chains by hook, rules by chain. */
class Ruleset {
  readonly transaction: Transaction;

  constructor(family: 'ip' | 'ip6' = 'ip') {
    this.transaction = new Transaction(family, 't').add({ kind: 'table' });
  }

  base(name: string, hook: BaseChain['hook'], priority = 0, type: BaseChain['type'] = 'filter'): this {
    this.transaction.add({ kind: 'chain', name, base: { type, hook, priority } });
    return this;
  }

  chain(name: string, ...rules: (readonly Statement[])[]): this {
    this.transaction.add({ kind: 'chain', name });
    for (const statements of rules) this.transaction.add({ kind: 'rule', chain: name, statements });
    return this;
  }

  rule(chain: string, ...statements: Statement[]): this {
    this.transaction.add({ kind: 'rule', chain, statements });
    return this;
  }

  set(set: NftSet | NftMap, fill: (rows: PackedElements) => void): this {
    const rows = PackedElements.for(set);
    fill(rows);
    this.transaction.add(set).add({ kind: 'elements', of: set, rows });
    return this;
  }

  trace(fields: Partial<TracedPacket> = {}, where: Parameters<typeof tracePacket>[2] = node) {
    const fake = new FakeNftables();
    fake.commit(this.transaction);
    const { family } = this.transaction;
    return tracePacket(fake.listTable(family, 't')!, { ...packet, ...fields }, where);
  }

  outcome(fields: Partial<TracedPacket> = {}): string {
    return outcomeText(this.trace(fields));
  }
}

test('without a rule everything passes', () => {
  expect(new Ruleset().outcome()).toBe('pass');
  expect(new Ruleset().base('in', 'prerouting').outcome()).toBe('pass');
});

describe('hooks', () => {
  const marked = (hook: BaseChain['hook']) => new Ruleset().base('c', hook).rule('c', dropped);
  test.each([
    ['through this node', {}, ['prerouting', 'forward', 'postrouting']],
    ['to this node', { to: NODE }, ['prerouting', 'input']],
    ['from this node', { from: NODE }, ['output', 'postrouting']],
    ['from this node to itself', { from: NODE, to: NODE }, ['output', 'postrouting', 'prerouting', 'input']],
    [
      'over loopback',
      { from: '127.0.0.1', to: '127.0.0.1' },
      ['output', 'postrouting', 'prerouting', 'input'],
    ],
  ] as const)('%s', (_, fields, passes) => {
    for (const hook of ['prerouting', 'input', 'forward', 'output', 'postrouting'] as const) {
      const dropsIt = (passes as readonly string[]).includes(hook);
      expect(marked(hook).outcome(fields), hook).toBe(dropsIt ? 'drop' : 'pass');
    }
  });

  test('base chains run by priority, not by age', () => {
    const ruleset = new Ruleset()
      .base('late', 'prerouting', -100, 'nat')
      .base('early', 'prerouting', -110)
      .rule('late', { kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' }, dnat('10.0.0.1', 80))
      .rule('early', { kind: 'match', left: [ipDaddr], op: '==', right: VIP }, dropped);
    expect(ruleset.outcome()).toBe('drop');
  });

  test('a translated packet is routed by its new address, and seen with it', () => {
    const ruleset = new Ruleset()
      .base('nat', 'prerouting', -100, 'nat')
      .rule('nat', { kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' }, dnat(NODE, 8080))
      .base('input', 'input')
      .rule('input', { kind: 'match', left: [ipDaddr], op: '==', right: NODE }, { kind: 'reject' });
    expect(ruleset.outcome()).toBe('reject');
    expect(ruleset.outcome({ protocol: 'udp' })).toBe('pass');
  });

  test('destinations are translated once, also for what loops back', () => {
    const ruleset = new Ruleset()
      .base('out', 'output', -100, 'nat')
      .base('in', 'prerouting', -100, 'nat')
      .rule('in', { kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' }, dnat('10.0.0.1', 80));
    expect(ruleset.outcome({ from: NODE, to: NODE })).toBe('pass');
    expect(ruleset.outcome({ from: POD, to: NODE })).toBe('10.0.0.1:80');
  });

  test('a policy applies where no rule decides', () => {
    const ruleset = new Ruleset();
    ruleset.transaction.add({
      kind: 'chain',
      name: 'c',
      base: { type: 'filter', hook: 'forward', priority: 0, policy: 'drop' },
    });
    ruleset.rule('c', { kind: 'match', left: [ipSaddr], op: '==', right: POD }, verdict('accept'));
    expect(ruleset.outcome()).toBe('pass');
    expect(ruleset.outcome({ from: '10.0.0.8' })).toBe('drop');
  });
});

describe('jumps', () => {
  const ruleset = (entry: Verdict, ...rules: (readonly Statement[])[]) =>
    new Ruleset()
      .base('c', 'prerouting')
      .chain('inner', ...rules)
      .chain('outer', [verdict(entry)], [{ kind: 'mark', op: 'or', value: 1 }])
      .rule('c', verdict('jump outer'))
      .rule('c', { kind: 'match', left: [metaMark], mask: 1, op: '!=', right: 0 }, dropped);

  test('jump comes back to the next rule, goto to the caller of its chain', () => {
    expect(ruleset('jump inner').outcome()).toBe('drop');
    expect(ruleset('goto inner').outcome()).toBe('pass');
    expect(ruleset('jump inner', [verdict('return')]).outcome()).toBe('drop');
    expect(ruleset('jump inner', [verdict('accept')]).outcome()).toBe('pass');
    expect(ruleset('continue').outcome()).toBe('drop');
    expect(ruleset('return').outcome()).toBe('pass');
  });

  test('accept ends a base chain only', () => {
    const two = new Ruleset().base('a', 'prerouting', -1).base('b', 'prerouting', 1);
    two.rule('a', verdict('accept')).rule('a', dropped);
    expect(two.outcome()).toBe('pass');
    expect(two.rule('b', dropped).outcome()).toBe('drop');
  });
});

describe('matches', () => {
  const holds = (match: Omit<Extract<Statement, { kind: 'match' }>, 'kind' | 'op'>, fields = {}) => {
    const results = (['==', '!='] as const).map((op) =>
      new Ruleset()
        .base('c', 'prerouting')
        .rule('c', { kind: 'match', ...match, op }, dropped)
        .outcome(fields),
    );
    expect(new Set(results).size).toBe(2);
    return results[0] === 'drop';
  };
  test.each([
    [{ left: [ipSaddr], right: POD }, true],
    [{ left: [ipSaddr], right: '10.0.0.8' }, false],
    [{ left: [ipSaddr], right: '10.0.0.0/9' }, true],
    [{ left: [ipDaddr], right: '10.0.0.0/24' }, false],
    [{ left: [ipDaddr], right: { values: ['10.0.0.0/24', '10.96.0.0-10.96.0.1'] } }, true],
    [{ left: [metaL4proto], right: { values: ['udp', 'sctp'] } }, false],
    [{ left: [thDport], right: 80 }, true],
    [{ left: [fibSaddrType], right: 'local' }, false],
    [{ left: [metaIifname], right: 'eth0' }, true],
    [{ left: [metaIifname], right: 'eth*' }, true],
    [{ left: [metaIifname], right: 'eth' }, false],
  ] as const)('%j', (match, expected) => {
    expect(holds(match, { interface: 'eth0' })).toBe(expected);
  });

  test('facts about connection and routes', () => {
    expect(holds({ left: [fibDaddrType], right: 'local' }, { to: NODE })).toBe(true);
    expect(holds({ left: [metaMark], mask: 0x4000, right: 0 })).toBe(true);
    const bits = (left: typeof ctState, right: string) =>
      new Ruleset()
        .base('c', 'prerouting')
        .rule('c', { kind: 'match', left: [left], op: '==', right }, dropped);
    expect(bits(ctState, 'new').outcome()).toBe('drop');
    expect(bits(ctState, 'established,related').outcome()).toBe('pass');
    expect(bits(ctStatus, 'dnat').outcome()).toBe('pass');
  });

  test('sets by their elements', () => {
    const set: NftSet = {
      kind: 'set',
      name: 's',
      key: { type: ['ipv4_addr', 'inet_proto', 'inet_service'] },
    };
    const ruleset = new Ruleset()
      .base('c', 'prerouting')
      .set(set, (rows) => rows.begin().address(VIP).protocol(6).port(80))
      .rule(
        'c',
        { kind: 'match', left: [ipDaddr, metaL4proto, thDport], op: '==', right: { set: 's' } },
        dropped,
      );
    expect(ruleset.outcome()).toBe('drop');
    expect(ruleset.outcome({ port: 81 })).toBe('pass');
    expect(ruleset.outcome({ protocol: 'udp' })).toBe('pass');
  });

  test('IPv6', () => {
    const ruleset = new Ruleset('ip6')
      .base('c', 'prerouting')
      .rule('c', { kind: 'match', left: [ip6Saddr], op: '==', right: 'fd00::/64' }, dropped);
    expect(ruleset.outcome({ from: 'fd00::1', to: 'fd00:1::' })).toBe('drop');
    expect(ruleset.outcome({ from: 'fd00:0:0:1::1', to: 'fd00:1::' })).toBe('pass');
  });

  test('what it does not know it refuses to guess', () => {
    const ruleset = new Ruleset()
      .base('c', 'prerouting')
      .rule('c', { kind: 'match', left: [metaOifname], op: '==', right: 'eth0' }, dropped);
    expect(() => ruleset.trace()).toThrow('oifname');
  });
});

describe('marks, masquerading and memory', () => {
  test('a mark set before routing is seen behind it', () => {
    const ruleset = new Ruleset()
      .base('pre', 'prerouting')
      .base('post', 'postrouting', 100, 'nat')
      .rule(
        'pre',
        { kind: 'match', left: [ipSaddr], op: '==', right: POD },
        { kind: 'mark', op: 'or', value: 0x8000_0000 },
      )
      .rule(
        'post',
        { kind: 'match', left: [metaMark], mask: 0x8000_0000, op: '!=', right: 0 },
        { kind: 'mark', op: 'xor', value: 0x8000_0000 },
        { kind: 'masquerade' },
      );
    expect(ruleset.trace()).toMatchObject([{ masqueraded: true, translated: false, share: 1 }]);
    expect(ruleset.trace({ from: '10.0.0.8' })).toMatchObject([{ masqueraded: false }]);
  });

  test('a set that a rule updates remembers the client of the next packet', () => {
    const set: NftSet = {
      kind: 'set',
      name: 'clients',
      key: { type: ['ipv4_addr'] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 1000,
    };
    const ruleset = new Ruleset()
      .base('c', 'prerouting')
      .set(set, () => {})
      .rule('c', { kind: 'match', left: [ipSaddr], op: '==', right: { set: 'clients' } }, dropped)
      .rule('c', { kind: 'update', op: 'update', set: 'clients', key: [ipSaddr] });
    expect(ruleset.trace()).toMatchObject([{ verdict: 'pass', remembers: ['clients'] }]);
    const remembered = new Map([['clients', new Set([POD])]]);
    expect(ruleset.trace({}, { ...node, remembered })).toMatchObject([{ verdict: 'drop' }]);
  });
});

describe('draws', () => {
  const shares = (outcomes: ReturnType<Ruleset['trace']>) =>
    Object.fromEntries(outcomes.map(({ destination, share }) => [destination, share]));

  test('a verdict map of random numbers leads to each of its chains', () => {
    const ruleset = new Ruleset()
      .base('c', 'prerouting', -100, 'nat')
      .chain('a', [{ kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' }, dnat('10.0.0.1', 1)])
      .chain('b', [{ kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' }, dnat('10.0.0.2', 2)])
      .rule('c', {
        kind: 'vmap',
        key: [numgenRandom(4)],
        map: {
          verdicts: [
            [0, 'goto a'],
            [1, 'goto b'],
            [3, 'goto b'],
          ],
        },
      });
    expect(shares(ruleset.trace())).toEqual({ '10.0.0.1:1': 0.25, '10.0.0.2:2': 0.5, [`${VIP}:80`]: 0.25 });
    expect(ruleset.outcome()).toBe('10.0.0.1:1, 10.0.0.2:2 | pass');
  });

  const tcp: Statement = { kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' };

  test('a map written in place, as kube-proxy has it', () => {
    const ruleset = new Ruleset().base('c', 'prerouting', -100, 'nat').rule('c', tcp, {
      kind: 'dnat',
      to: {
        key: [numgenRandom(2)],
        map: {
          addresses: [
            [0, '10.0.0.1', 80],
            [1, '10.0.0.2', 81],
          ],
        },
      },
    });
    expect(shares(ruleset.trace())).toEqual({ '10.0.0.1:80': 0.5, '10.0.0.2:81': 0.5 });
  });

  test('a number that no element has leaves the packet to the next rule', () => {
    const key = [ipDaddr, numgenRandom(4)];
    const map: NftMap = {
      kind: 'map',
      name: 'm',
      key: { typeof: key },
      data: { typeof: [ipDaddr, thDport] },
    };
    const ruleset = new Ruleset().base('c', 'prerouting', -100, 'nat').set(map, (rows) => {
      for (const slot of [0, 1, 2])
        rows.begin().address(VIP).number(slot).address(`10.0.0.${slot}`).port(8080);
    });
    const draw = (mod: number): Statement => ({
      kind: 'dnat',
      to: { key: [ipDaddr, numgenRandom(mod)], map: { set: 'm' } },
    });
    ruleset.rule('c', tcp, draw(4)).rule('c', tcp, draw(2));
    expect(shares(ruleset.trace())).toEqual({
      '10.0.0.0:8080': 0.375,
      '10.0.0.1:8080': 0.375,
      '10.0.0.2:8080': 0.25,
    });
    expect(ruleset.outcome({ to: '10.96.0.2' })).toBe('pass');
  });
});
