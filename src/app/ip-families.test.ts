import { expect, test } from 'vitest';
import { requirePrimaryFamily, supportedFamilies } from './ip-families.ts';

const DISABLE_IPV6 = '/proc/sys/net/ipv6/conf/all/disable_ipv6';

function familiesOf(kernel: { if_inet6: boolean; disable_ipv6: string | undefined }) {
  const read = (path: string) => {
    if (path !== DISABLE_IPV6 || kernel.disable_ipv6 === undefined) throw new Error(`no ${path}`);
    return kernel.disable_ipv6;
  };
  return supportedFamilies({ read }, (path) => path === '/proc/net/if_inet6' && kernel.if_inet6);
}

test.each([
  ['a kernel with both', { if_inet6: true, disable_ipv6: '0' }, ['IPv4', 'IPv6']],
  ['IPv6 switched off by sysctl', { if_inet6: true, disable_ipv6: '1' }, ['IPv4']],
  ['a kernel without IPv6', { if_inet6: false, disable_ipv6: undefined }, ['IPv4']],
  ['a sysctl that cannot be read', { if_inet6: true, disable_ipv6: undefined }, ['IPv4', 'IPv6']],
])('%s (C122)', (_, kernel, families) => {
  expect(familiesOf(kernel)).toEqual(families);
});

test('the primary family of the node is the one that cannot be missing (C122)', () => {
  expect(() => requirePrimaryFamily('IPv4', ['IPv4'])).not.toThrow();
  expect(() => requirePrimaryFamily('IPv6', ['IPv4', 'IPv6'])).not.toThrow();
  for (const [family, served] of [
    ['IPv6', 'IPv4'],
    ['IPv4', 'IPv6'],
  ] as const) {
    expect(() => requirePrimaryFamily(family, [served])).toThrow(
      expect.objectContaining({ detail: { code: 'APP_FAMILY_NOT_SUPPORTED', family } }),
    );
  }
});
