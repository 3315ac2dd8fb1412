import { describe, expect, test } from 'vitest';
import { ruleText } from '../../kernel/nftables/object-text.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { settings } from '../../plan/testing/settings.ts';
import { nftFamily } from './family-terms.ts';
import {
  balance,
  external,
  externalLocal,
  type Treatment,
  treatmentOfChain,
  withTargets,
} from './treatment.ts';
import { treatmentRules } from './treatment-rules.ts';

const textOf = (treatment: Treatment, fields: Partial<PlanSettings> = {}): string[] => {
  const wanted = settings(fields);
  return treatmentRules(treatment, wanted).map((rule) => {
    expect(rule.chain).toBe(treatment.chain);
    return ruleText(rule, nftFamily(wanted.family));
  });
};

const draw = (key: string, mod: number, map: string, family = 'ip') =>
  `meta l4proto { tcp, udp, sctp } dnat ${family} to ${key} . numgen random mod ${mod} map @${map}`;
const service = 'ip daddr . meta l4proto . th dport';
const nodePort = 'meta l4proto . th dport';
const ofNode = 'fib saddr type local';

describe('rules', () => {
  test.each<[Treatment, readonly string[]]>([
    [balance('service', 'cluster', 1), [draw(service, 1, 'cluster-endpoints')]],
    [balance('service', 'local', 2), [draw(service, 2, 'local-endpoints')]],
    [
      balance('nodeport', 'cluster', 4),
      [...new Array<string>(8).fill('jump nodeport-cluster-draw-4'), 'goto nodeport-cluster-2'],
    ],
    [
      balance('service', 'local', 16),
      [...new Array<string>(8).fill('jump local-draw-16'), 'goto local-draw-8'],
    ],
    [treatmentOfChain('local-draw-16')!, [draw(service, 16, 'local-endpoints')]],
    [balance('nodeport', 'local', 1), [draw(nodePort, 1, 'nodeport-local-endpoints')]],
    [external('service', 8), ['mark set mark or 0x00004000 comment "masquerade"', 'goto cluster-8']],
    [
      external('nodeport', 8),
      ['mark set mark or 0x00004000 comment "masquerade"', 'goto nodeport-cluster-8'],
    ],
    [
      externalLocal('nodeport', 8, 2),
      [
        'ip saddr 10.0.0.0/8 goto nodeport-cluster-8 comment "short-circuit pod traffic"',
        `${ofNode} mark set mark or 0x00004000 comment "masquerade local traffic"`,
        `${ofNode} goto nodeport-cluster-8 comment "short-circuit local traffic"`,
        'goto nodeport-local-2',
      ],
    ],
    [
      externalLocal('service', 1, 0),
      [
        'ip saddr 10.0.0.0/8 goto cluster-1 comment "short-circuit pod traffic"',
        `${ofNode} mark set mark or 0x00004000 comment "masquerade local traffic"`,
        `${ofNode} goto cluster-1 comment "short-circuit local traffic"`,
      ],
    ],
  ])('$chain', (treatment, rules) => {
    expect(textOf(treatment)).toEqual(rules);
  });

  test('IPv6 keys', () => {
    expect(textOf(balance('service', 'cluster', 2), { family: 'IPv6' })).toEqual([
      draw('ip6 daddr . meta l4proto . th dport', 2, 'cluster-endpoints', 'ip6'),
    ]);
  });

  test.each<[string, PlanSettings['localTraffic'], string | undefined]>([
    ['a bridge', { kind: 'bridgeInterface', name: 'cbr0' }, 'iifname "cbr0"'],
    ['a prefix', { kind: 'interfaceNamePrefix', prefix: 'veth' }, 'iifname "veth*"'],
    ['nothing', { kind: 'none' }, undefined],
  ])('policy Local where local traffic is told by %s', (_, localTraffic, match) => {
    const first = textOf(externalLocal('service', 2, 1), { localTraffic })[0];
    if (match === undefined) expect(first).toContain('masquerade local traffic');
    else expect(first).toBe(`${match} goto cluster-2 comment "short-circuit pod traffic"`);
  });
});

describe('treatments', () => {
  test('are the same object for the same chain, and found by it', () => {
    const treatment = externalLocal('nodeport', 4, 2);
    expect(externalLocal('nodeport', 4, 2)).toBe(treatment);
    expect(treatmentOfChain('nodeport-external-local-4-2')).toBe(treatment);
    expect(treatmentOfChain('services')).toBeUndefined();
    expect(treatmentOfChain('external-ULMVA6XW-ns1/svc1/tcp/p80')).toBeUndefined();
  });

  test('come after those they lead to', () => {
    const chains = (treatment: Treatment) => withTargets(treatment).map(({ chain }) => chain);
    expect(chains(balance('service', 'local', 2))).toEqual(['local-2']);
    expect(chains(external('nodeport', 2))).toEqual(['nodeport-cluster-2', 'nodeport-external-2']);
    expect(chains(externalLocal('service', 4, 1))).toEqual([
      'cluster-2',
      'cluster-draw-4',
      'cluster-4',
      'local-1',
      'external-local-4-1',
    ]);
    expect(chains(externalLocal('service', 4, 0))).toEqual([
      'cluster-2',
      'cluster-draw-4',
      'cluster-4',
      'external-local-4-0',
    ]);
  });
});
