import { describe, expect, test } from 'vitest';
import { setProperties } from '../../kernel/nftables/object-text.ts';
import { SETS } from './names.ts';
import { namedSets, nodePortIPs } from './sets.ts';

const service = 'ip daddr . meta l4proto . th dport';
const nodePort = 'meta l4proto . th dport';
const target = ' : ip daddr . th dport';

/** Kind and declaration, without the comment. */
const declarations = {
  'cluster-ips': 'set type ipv4_addr',
  'hairpin-connections': 'set type ipv4_addr . ipv4_addr . inet_proto . inet_service',
  'service-ips': 'map type ipv4_addr . inet_proto . inet_service : verdict',
  'service-nodeports': 'map type inet_proto . inet_service : verdict',
  'no-endpoint-services': 'map type ipv4_addr . inet_proto . inet_service : verdict',
  'no-endpoint-nodeports': 'map type inet_proto . inet_service : verdict',
  'firewall-ips': 'map type ipv4_addr . inet_proto . inet_service : verdict',
  'cluster-endpoints': `map typeof ${service} . numgen random mod 2${target}`,
  'local-endpoints': `map typeof ${service} . numgen random mod 2${target}`,
  'nodeport-cluster-endpoints': `map typeof ${nodePort} . numgen random mod 2${target}`,
  'nodeport-local-endpoints': `map typeof ${nodePort} . numgen random mod 2${target}`,
};

describe.each(['ip', 'ip6'] as const)('spec A6, %s', (family) => {
  test('every set is declared under its name, with a comment', () => {
    const found: Record<string, string> = {};
    for (const [name, set] of namedSets(family)) {
      expect(set.name).toBe(name);
      const [type, ...rest] = setProperties(set);
      expect(rest).toEqual([expect.stringMatching(/^comment "/)]);
      found[name] = `${set.kind} ${type}`
        .replaceAll('ipv6_addr', 'ipv4_addr')
        .replaceAll('ip6 daddr', 'ip daddr');
    }
    expect(found).toEqual(declarations);
    const always = Object.values(SETS).filter((name) => name !== SETS.nodePortIPs);
    expect(Object.keys(found).sort()).toEqual(always.sort());
  });

  test('addresses for node ports', () => {
    expect(setProperties(nodePortIPs(family))[0]).toBe(family === 'ip' ? 'type ipv4_addr' : 'type ipv6_addr');
  });
});
