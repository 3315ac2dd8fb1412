import { describe, expect, test } from 'vitest';
import { defaultConfiguration } from '../config/from-v1alpha1.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import { checkFamilies } from './family-checks.ts';

const V4 = '10.0.0.0/8';
const V6 = 'fd00::/16';

function config(fields: object): ProxyConfiguration {
  const base = {
    ...defaultConfiguration(),
    nodePortAddresses: ['primary'],
    detectLocalMode: 'ClusterCIDR',
    mode: 'nftables',
  };
  return { ...base, ...fields } as ProxyConfiguration;
}

const clusterCIDRs = (...list: string[]) => ({
  detectLocal: { bridgeInterface: '', interfaceNamePrefix: '', clusterCIDRs: list },
});

function counts(fields: object, dualStack: boolean, podCIDRs: string[] = []) {
  const { fatal, warnings } = checkFamilies(config(fields), { primaryFamily: 'IPv4', dualStack, podCIDRs });
  return [fatal.length, warnings.length];
}

describe('addresses of the other family only: operations 3.4, check B', () => {
  test.each([
    ['clusterCIDRs in mode ClusterCIDR', clusterCIDRs(V6), [], [1, 0], [0, 1]],
    [
      'clusterCIDRs in other modes',
      { ...clusterCIDRs(V6), detectLocalMode: 'BridgeInterface' },
      [],
      [0, 1],
      [0, 1],
    ],
    ['podCIDRs in mode NodeCIDR', { detectLocalMode: 'NodeCIDR' }, [V6], [1, 0], [1, 0]],
    ['podCIDRs in other modes', {}, [V6], [0, 1], [0, 1]],
    ['healthzBindAddress', { healthzBindAddress: '[fd00::1]:10256' }, [], [0, 1], [0, 0]],
    ['an unspecified healthzBindAddress', { healthzBindAddress: '[::]:10256' }, [], [0, 0], [0, 0]],
    ['mixed families', clusterCIDRs(V6, V4), [V6, V4], [0, 0], [0, 0]],
    ['the primary family', clusterCIDRs(V4), [V4], [0, 0], [0, 0]],
  ] as const)('%s', (_, fields, podCIDRs, singleStack, dualStack) => {
    expect(counts(fields, false, [...podCIDRs])).toEqual(singleStack);
    expect(counts(fields, true, [...podCIDRs])).toEqual(dualStack);
  });
});

describe('nodePortAddresses: operations 3.4, check A', () => {
  test.each([
    [undefined, [], 'not set'],
    [[V6], [], 'no IPv4 network'],
    [[V4], [V4, V6], 'only IPv4 networks'],
  ])('%j in a cluster of %j', (nodePortAddresses, cluster, expected) => {
    const { warnings } = checkFamilies(config({ nodePortAddresses, ...clusterCIDRs(...cluster) }), {
      primaryFamily: 'IPv4',
      dualStack: true,
      podCIDRs: [],
    });
    expect(warnings).toEqual([expect.stringContaining(expected)]);
  });

  test.each([[['primary']], [[V4]], [[V4, V6]]])('%j alone is fine', (nodePortAddresses) => {
    expect(counts({ nodePortAddresses }, true)).toEqual([0, 0]);
  });
});
