import { describe, expect, test } from 'vitest';
import { nodePortAddresses } from './node-port-addresses.ts';

const all = 'all';

/** What a family accepts on: whether it matches all, and the selected addresses. */
function outcome(family: 'IPv4' | 'IPv6', cidrs: string[], host: string[]) {
  const addresses = nodePortAddresses(family, cidrs);
  return [addresses.matchAll ? all : 'some', ...addresses.select(host)];
}

describe('node addresses that accept NodePorts (operations 3.3)', () => {
  const mixed = ['1.2.3.4', '127.0.0.1', '2001:db8::1', '::1'];
  test.each([
    [['10.20.30.0/24'], ['10.20.30.51', '100.200.201.1'], ['some', '10.20.30.51'], [all]],
    [['0.0.0.0/0'], ['10.20.30.51', '127.0.0.1'], [all, '10.20.30.51', '127.0.0.1'], [all]],
    [['2001:db8::/64', '::1/128'], ['2001:db8::1', '::1'], [all], ['some', '2001:db8::1', '::1']],
    [['::/0'], ['2001:db8::1', '::1'], [all], [all, '2001:db8::1', '::1']],
    [['127.0.0.1/32'], ['10.20.30.51', '127.0.0.1'], ['some', '127.0.0.1'], [all]],
    [['127.0.0.0/8'], ['127.0.1.1'], ['some', '127.0.1.1'], [all]],
    [['10.20.30.0/24', '100.200.201.0/24'], ['192.168.1.2', '127.0.0.1'], ['some'], [all]],
    [[], mixed, [all, '1.2.3.4', '127.0.0.1'], [all, '2001:db8::1', '::1']],
    [['1.2.3.0/24', '0.0.0.0/0'], ['1.2.3.4'], [all, '1.2.3.4'], [all]],
    [
      ['0.0.0.0/0', '1.2.3.0/24', '2001:db8::1/128'],
      mixed,
      [all, '1.2.3.4', '127.0.0.1'],
      ['some', '2001:db8::1'],
    ],
    [['::/0', '1.2.3.0/24', '2001:db8::1/128'], mixed, ['some', '1.2.3.4'], [all, '2001:db8::1', '::1']],
  ])('%j on a host with %j', (cidrs, host, v4, v6) => {
    expect(outcome('IPv4', cidrs, host)).toEqual(v4);
    expect(outcome('IPv6', cidrs, host)).toEqual(v6);
  });

  test.each([
    [[], true],
    [['10.0.0.0/8', '0.0.0.0/0'], true],
    [['0.0.0.0/0', '10.0.0.0/8'], true],
    [['5.0.0.0/0'], true],
    [['224.0.0.0/24', '192.168.0.0/16', 'fd00:1:d::/64', '::/0'], false],
    [['224.0.0.0/24', '192.168.0.0/16', 'fd00:1:d::/64', '::/0', '127.0.0.0/8'], true],
    [['224.0.0.0/24', '192.168.0.0/16', 'fd00:1:d::/64', '::1/128'], false],
    [['224.0.0.0/24', '127.0.2.0/28'], true],
    [['224.0.0.0/24', '64.0.0.0/2'], true],
    [['127.255.255.255/1'], true],
    [['128.0.2.0/28', '224.0.0.0/24'], false],
  ])('IPv4 loopback in %j: %s; never for IPv6', (cidrs, contains) => {
    expect(nodePortAddresses('IPv4', cidrs).containsIPv4Loopback).toBe(contains);
    expect(nodePortAddresses('IPv6', cidrs).containsIPv4Loopback).toBe(false);
  });

  test('addresses are canonical and come once', () => {
    const host = ['010.1.2.3', '10.1.2.3', '::ffff:10.1.2.4', 'FE80::1', 'fe80:0::1', 'junk'];
    expect(nodePortAddresses('IPv4', ['10.0.0.0/8']).select(host)).toEqual(['10.1.2.3', '10.1.2.4']);
    expect(nodePortAddresses('IPv6', []).select(host)).toEqual(['fe80::1']);
    expect(nodePortAddresses('IPv4', ['10.1.2.3/8']).cidrs).toEqual([
      { family: 'IPv4', address: '10.0.0.0', prefixLength: 8 },
    ]);
    expect(nodePortAddresses('IPv4', ['1.2.3.4/0']).cidrs).toEqual([
      { family: 'IPv4', address: '0.0.0.0', prefixLength: 0 },
    ]);
  });
});
