import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../base/logger.ts';
import { defaultConfiguration } from '../config/from-v1alpha1.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { Node } from '../kube/node.ts';
import { nodeFacts, planSettings } from './node-settings.ts';

const node: Node = {
  name: 'node1',
  resourceVersion: '',
  uid: '',
  labels: {},
  podCIDRs: ['10.244.1.0/24'],
  addresses: [{ type: 'InternalIP', address: '192.168.0.11' }],
  deletionTimestamp: undefined,
  providerID: '',
  taints: [],
};

function settingsOf(fields: object, interfaceAddresses: string[] = []) {
  const config = {
    ...defaultConfiguration(),
    mode: 'nftables',
    detectLocalMode: 'ClusterCIDR',
    ...fields,
  } as ProxyConfiguration;
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (message) => warnings.push(message) };
  const facts = nodeFacts('node1', node, config, logger);
  const options = { interfaceAddresses, zone: '', serviceCIDRs: [], allowExternalIPs: true };
  return { settings: planSettings('IPv4', facts, config, options), warnings };
}

const detectLocal = (fields: object) => ({
  bridgeInterface: '',
  interfaceNamePrefix: '',
  clusterCIDRs: [],
  ...fields,
});

test('primary is the address of the Node, as far as an interface has it', () => {
  const addresses = ['127.0.0.1', '192.168.0.11', '10.0.0.1', 'fd00::1'];
  expect(settingsOf({ nodePortAddresses: ['primary'] }, addresses).settings.nodePortAddresses).toEqual([
    '192.168.0.11',
  ]);
  expect(settingsOf({ nodePortAddresses: ['primary'] }, []).settings.nodePortAddresses).toEqual([]);
  expect(settingsOf({ nodePortAddresses: [] }, addresses).settings.nodePortAddresses).toBe('all');
});

test('the masquerade bit is that of the mode', () => {
  const bits = { nftables: { masqueradeBit: 3 }, iptables: { masqueradeBit: 31, localhostNodePorts: true } };
  expect(settingsOf(bits).settings.masqueradeMark).toBe(8);
  expect(settingsOf({ ...bits, mode: 'iptables' }).settings.masqueradeMark).toBe(0x8000_0000);
});

test('local traffic is told apart by the configured means', () => {
  expect(settingsOf({ detectLocalMode: 'NodeCIDR' }).settings.localTraffic).toEqual({
    kind: 'cidr',
    cidr: '10.244.1.0/24',
  });
  const bridge = {
    detectLocalMode: 'BridgeInterface',
    detectLocal: detectLocal({ bridgeInterface: 'cbr0' }),
  };
  expect(settingsOf(bridge).settings.localTraffic).toEqual({ kind: 'bridgeInterface', name: 'cbr0' });
});

test('an interface that cannot exist does not stop the rules', () => {
  const name = '1234567890123456';
  const { settings, warnings } = settingsOf({
    detectLocalMode: 'BridgeInterface',
    detectLocal: detectLocal({ bridgeInterface: name }),
  });
  expect(settings.localTraffic).toEqual({ kind: 'none' });
  expect(warnings).toEqual([expect.stringContaining('No interface can have this name')]);
});
