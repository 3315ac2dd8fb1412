import { describe, expect, test } from 'vitest';
import { chainProperties, ruleText } from '../../kernel/nftables/object-text.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import { settings } from '../../plan/testing/settings.ts';
import { nftFamily } from './family-terms.ts';
import { staticRuleset } from './static-rules.ts';

/** Chains with their properties and rules, as text. */
function textOf(fields: Partial<PlanSettings>, ...only: string[]): string {
  const wanted = settings(fields);
  const { chains, rules } = staticRuleset(wanted);
  let text = '';
  for (const chain of chains) {
    if (only.length > 0 && !only.includes(chain.name)) continue;
    text += `${chain.name}${chainProperties(chain)
      .map((property) => ` ; ${property}`)
      .join('')}\n`;
    for (const rule of rules)
      if (rule.chain === chain.name) text += `  ${ruleText(rule, nftFamily(wanted.family))}\n`;
  }
  return text;
}

const v6: Partial<PlanSettings> = {
  family: 'IPv6',
  localTraffic: { kind: 'cidr', cidr: 'fd00:10::/64' },
  serviceCIDRs: ['fd00:172:30::/112'],
};

test('spec A3 to A5: everything, IPv4', () => {
  expect(textOf({})).toBe(`\
filter-prerouting-pre-dnat ; type filter hook prerouting priority -110 ; policy accept
  ct state new jump firewall-check
filter-output-pre-dnat ; type filter hook output priority -110 ; policy accept
  ct state new jump firewall-check
filter-input ; type filter hook input priority 0 ; policy accept
  ct state new jump nodeport-endpoints-check
  ct state new jump service-endpoints-check
filter-forward ; type filter hook forward priority 0 ; policy accept
  ct state new jump service-endpoints-check
  ct state new jump cluster-ips-check
filter-output ; type filter hook output priority 0 ; policy accept
  ct state new jump service-endpoints-check
  ct state new jump cluster-ips-check
nat-prerouting ; type nat hook prerouting priority -100 ; policy accept
  jump services
nat-output ; type nat hook output priority -100 ; policy accept
  jump services
nat-postrouting ; type nat hook postrouting priority 100 ; policy accept
  jump masquerading
services
  ip daddr @cluster-ips ip saddr != 10.0.0.0/8 mark set mark or 0x00004000 comment "masquerade clusterIP traffic from outside cluster"
  ip daddr . meta l4proto . th dport vmap @service-ips
  fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @service-nodeports
service-endpoints-check
  ip daddr . meta l4proto . th dport vmap @no-endpoint-services
nodeport-endpoints-check
  ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @no-endpoint-nodeports
firewall-check
  ip daddr . meta l4proto . th dport vmap @firewall-ips
cluster-ips-check
  ip daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"
  ip daddr 172.30.0.0/16 drop comment "Drop traffic to unallocated ClusterIPs"
masquerading
  mark and 0x00004000 != 0 mark set mark xor 0x00004000 masquerade fully-random
  ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
reject-chain ; comment "helper for @no-endpoint-services / @no-endpoint-nodeports"
  reject
`);
});

test('spec A16: IPv6 differs in words only', () => {
  const words: readonly (readonly [RegExp, string])[] = [
    [/ip6 daddr != ::1/g, 'ip daddr != 127.0.0.0/8'],
    [/fd00:10::\/64/g, '10.0.0.0/8'],
    [/fd00:172:30::\/112/g, '172.30.0.0/16'],
    [/ip6 /g, 'ip '],
  ];
  const text = words.reduce((result, [from, to]) => result.replaceAll(from, to), textOf(v6));
  expect(text).toBe(textOf({}));
});

describe('which traffic to ClusterIPs is masqueraded', () => {
  const firstRule = (fields: Partial<PlanSettings>) => textOf(fields, 'services').split('\n')[1];
  const outside = ' mark set mark or 0x00004000 comment "masquerade clusterIP traffic from outside cluster"';
  test.each<[string, Partial<PlanSettings>, string]>([
    ['by network', {}, `  ip daddr @cluster-ips ip saddr != 10.0.0.0/8${outside}`],
    ['by network, IPv6', v6, `  ip6 daddr @cluster-ips ip6 saddr != fd00:10::/64${outside}`],
    [
      'by network, when that is everything',
      { localTraffic: { kind: 'cidr', cidr: '0.0.0.0/0' } },
      `  ip daddr @cluster-ips ip saddr != 0.0.0.0/0${outside}`,
    ],
    [
      'by bridge',
      { localTraffic: { kind: 'bridgeInterface', name: 'cbr0' } },
      `  ip daddr @cluster-ips iifname != "cbr0"${outside}`,
    ],
    [
      'by prefix of interface names',
      { localTraffic: { kind: 'interfaceNamePrefix', prefix: 'veth' } },
      `  ip daddr @cluster-ips iifname != "veth*"${outside}`,
    ],
    [
      'none, where local traffic cannot be told',
      { localTraffic: { kind: 'none' } },
      '  ip daddr . meta l4proto . th dport vmap @service-ips',
    ],
    [
      'all of it on request, pods included',
      { masqueradeAll: true },
      '  ip daddr @cluster-ips mark set mark or 0x00004000 comment "masquerade all clusterIP traffic"',
    ],
  ])('%s', (_, fields, rule) => {
    expect(firstRule(fields)).toBe(rule);
  });

  test('with the mark that is configured, the highest bit too', () => {
    const text = textOf({ masqueradeMark: 0x8000_0000 });
    expect(text).toContain('mark set mark or 0x80000000 comment');
    expect(text).toContain('mark and 0x80000000 != 0 mark set mark xor 0x80000000 masquerade');
    expect(text).not.toContain('00004000');
  });
});

test('node ports on some addresses are looked up by address', () => {
  expect(textOf({ nodePortAddresses: ['192.168.0.2'] }, 'services', 'nodeport-endpoints-check')).toBe(`\
services
  ip daddr @cluster-ips ip saddr != 10.0.0.0/8 mark set mark or 0x00004000 comment "masquerade clusterIP traffic from outside cluster"
  ip daddr . meta l4proto . th dport vmap @service-ips
  ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
nodeport-endpoints-check
  ip daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports
`);
});

test.each<[string, readonly string[], string | undefined]>([
  ['unknown', [], undefined],
  ['one', ['172.30.0.0/16'], '172.30.0.0/16'],
  ['several', ['172.30.0.0/16', '172.50.0.0/16'], '{ 172.30.0.0/16, 172.50.0.0/16 }'],
])('spec A14: ServiceCIDRs: %s', (_, serviceCIDRs, networks) => {
  const rules = textOf({ serviceCIDRs }, 'cluster-ips-check').split('\n').slice(1, -1);
  expect(rules).toEqual([
    '  ip daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"',
    ...(networks === undefined
      ? []
      : [`  ip daddr ${networks} drop comment "Drop traffic to unallocated ClusterIPs"`]),
  ]);
});
