import { describe, expect, test } from 'vitest';
import { determineNodeIps, nodeObjectIps, resolvePrimaryNodePortAddresses } from './node-ips.ts';

describe('primary family and node IPs (operations 3.3)', () => {
  test.each([
    [[], '10.0.0.1', 'IPv4', '10.0.0.1', '::1'],
    [[], 'fd00:4321::2', 'IPv6', '127.0.0.1', 'fd00:4321::2'],
    [[], '', 'IPv4', '127.0.0.1', '::1'],
    [[], '0.0.0.0', 'IPv4', '127.0.0.1', '::1'],
    [['192.168.1.1'], '0.0.0.0', 'IPv4', '192.168.1.1', '::1'],
    [['192.168.1.1'], '::', 'IPv4', '192.168.1.1', '::1'],
    [['fd00:1234::1'], '0.0.0.0', 'IPv6', '127.0.0.1', 'fd00:1234::1'],
    [['fd00:1234::1'], '::', 'IPv6', '127.0.0.1', 'fd00:1234::1'],
    [['90.90.90.90', '2001:db8::2'], '::', 'IPv4', '90.90.90.90', '2001:db8::2'],
    [['2001:db8::2', '90.90.90.90'], '0.0.0.0', 'IPv6', '90.90.90.90', '2001:db8::2'],
    [['2001:db8::2', '90.90.90.90'], '80.80.80.80', 'IPv4', '80.80.80.80', '2001:db8::2'],
    [['90.90.90.90', '2001:db8::2'], '2001:db8::555', 'IPv6', '90.90.90.90', '2001:db8::555'],
    [['2001:db8::2', '90.90.90.90'], '127.0.0.1', 'IPv4', '127.0.0.1', '2001:db8::2'],
    [['90.90.90.90', '2001:db8::2'], '::1', 'IPv6', '90.90.90.90', '::1'],
  ])('node IPs %j and bindAddress %j', (nodeIps, bindAddress, primaryFamily, IPv4, IPv6) => {
    expect(determineNodeIps(nodeIps, bindAddress)).toEqual({ primaryFamily, IPv4, IPv6 });
  });
});

test('of a Node object count internal addresses before external ones, the first and one of the other family', () => {
  const address = (type: string, ip: string) => ({ type, address: ip });
  expect(
    nodeObjectIps([
      address('Hostname', '1.1.1.1'),
      address('ExternalIP', '2001:db8::9'),
      address('InternalIP', 'not an IP'),
      address('InternalIP', '010.0.0.1'),
      address('InternalIP', '10.0.0.2'),
      address('ExternalIP', '203.0.113.1'),
    ]),
  ).toEqual(['10.0.0.1', '2001:db8::9']);
  expect(nodeObjectIps([address('ExternalIP', 'fd00::1')])).toEqual(['fd00::1']);
  expect(nodeObjectIps([])).toEqual([]);
});

test('primary becomes the known node IPs', () => {
  const resolve = (nodeIps: string[]) =>
    resolvePrimaryNodePortAddresses(['primary'], determineNodeIps(nodeIps, ''));
  expect(resolve(['10.0.0.1', 'fd00::1'])).toEqual(['10.0.0.1/32', 'fd00::1/128']);
  expect(resolve(['fd00::1'])).toEqual(['fd00::1/128']);
  expect(resolve([])).toEqual([]);
  expect(resolvePrimaryNodePortAddresses(['10.0.0.0/8'], determineNodeIps([], ''))).toEqual(['10.0.0.0/8']);
});
