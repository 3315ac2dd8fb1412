import { describe, expect, test } from 'vitest';
import { type DetectLocalInput, localTrafficDetector } from './local-traffic-detector.ts';

const input = (changes: Partial<DetectLocalInput>): DetectLocalInput => ({
  mode: 'ClusterCIDR',
  clusterCIDRs: [],
  podCIDRs: [],
  bridgeInterface: '',
  interfaceNamePrefix: '',
  ...changes,
});
const both = (changes: Partial<DetectLocalInput>) => [
  localTrafficDetector(input(changes), 'IPv4'),
  localTrafficDetector(input(changes), 'IPv6'),
];
const none = { kind: 'none' };
const v4 = { kind: 'cidr', cidr: '10.0.0.0/14' };
const v6 = { kind: 'cidr', cidr: '2002:0:0:1234::/64' };

describe('local traffic detector (operations 8.1)', () => {
  test('ClusterCIDR takes the first network of the family', () => {
    expect(both({ clusterCIDRs: ['10.0.0.0/14'] })).toEqual([v4, none]);
    expect(both({ clusterCIDRs: ['2002:0:0:1234::/64'] })).toEqual([none, v6]);
    expect(both({ clusterCIDRs: ['10.0.0.0/14', '2002:0:0:1234::/64'] })).toEqual([v4, v6]);
    expect(both({ clusterCIDRs: ['2002:0:0:1234::/64', '10.0.0.0/14'] })).toEqual([v4, v6]);
    expect(both({ clusterCIDRs: [''] })).toEqual([none, none]);
    expect(both({ clusterCIDRs: [' ', 'bad', '10.0.0.0/14', '10.8.0.0/14'] })).toEqual([v4, none]);
  });

  test('NodeCIDR takes the first pod network of the family and ignores the cluster network', () => {
    const clusterCIDRs = ['10.0.0.0/14'];
    expect(both({ mode: 'NodeCIDR', clusterCIDRs, podCIDRs: ['10.0.0.0/24'] })).toEqual([
      { kind: 'cidr', cidr: '10.0.0.0/24' },
      none,
    ]);
    expect(both({ mode: 'NodeCIDR', clusterCIDRs })).toEqual([none, none]);
  });

  test('networks are put in canonical form', () => {
    expect(both({ clusterCIDRs: ['10.1.2.3/14', 'FD00:0:0:0::5/64'] })).toEqual([
      { kind: 'cidr', cidr: '10.0.0.0/14' },
      { kind: 'cidr', cidr: 'fd00::/64' },
    ]);
  });

  test('interfaces count for both families, whatever their length', () => {
    const bridgeInterface = '1234567890123456789';
    const bridge = { kind: 'bridgeInterface', name: bridgeInterface };
    expect(both({ mode: 'BridgeInterface', bridgeInterface })).toEqual([bridge, bridge]);
    const prefix = { kind: 'interfaceNamePrefix', prefix: 'veth' };
    expect(both({ mode: 'InterfaceNamePrefix', interfaceNamePrefix: 'veth' })).toEqual([prefix, prefix]);
  });

  test('an unknown mode detects nothing', () => {
    expect(both({ mode: 'abcd', clusterCIDRs: ['10.0.0.0/14'] })).toEqual([none, none]);
  });
});
