import { describe, expect, test } from 'vitest';
import { type ConntrackInput, conntrackMax, conntrackSettings } from './conntrack-settings.ts';

const nothing: ConntrackInput = {
  maxPerCore: 0,
  min: 0,
  tcpEstablishedTimeout: 0,
  tcpCloseWaitTimeout: 0,
  tcpBeLiberal: false,
  udpTimeout: 0,
  udpStreamTimeout: 0,
};

describe('limit on tracked connections (operations 3.7)', () => {
  test.each([
    [0, 0, 4, 0],
    [0, 123456, 4, 0],
    [67890, 1, 3, 203670],
    [67890, 1, 16, 1048576],
    [1, 123456, 8, 123456],
    [32768, 0, 512, 1048576],
    [32768, 2_000_000, 512, 1048576],
    [32768, 2_000_000, 4, 2_000_000],
  ])('%d per core, at least %d, on %d CPUs is %d', (maxPerCore, min, cpus, max) => {
    expect(conntrackMax(maxPerCore, min, cpus)).toBe(max);
  });
});

describe('conntrack settings (operations 3.7)', () => {
  test.each([
    [{}, []],
    [{ maxPerCore: 12 }, [{ name: 'nf_conntrack_max', value: 48 }]],
    [{ tcpEstablishedTimeout: 5000 }, [{ name: 'nf_conntrack_tcp_timeout_established', value: 5 }]],
    [{ tcpCloseWaitTimeout: 5999 }, [{ name: 'nf_conntrack_tcp_timeout_close_wait', value: 5 }]],
    [{ tcpBeLiberal: true }, [{ name: 'nf_conntrack_tcp_be_liberal', value: 1 }]],
    [{ udpTimeout: 5000 }, [{ name: 'nf_conntrack_udp_timeout', value: 5 }]],
    [{ udpStreamTimeout: 5000 }, [{ name: 'nf_conntrack_udp_timeout_stream', value: 5 }]],
    [{ udpStreamTimeout: -5000 }, []],
  ])('%j', (changes, sysctls) => {
    expect(conntrackSettings({ ...nothing, ...changes }, 4).sysctls).toEqual(sysctls);
  });

  test('come in upstream order, with a hash table of a quarter of the limit', () => {
    const settings = conntrackSettings(
      {
        maxPerCore: 32768,
        min: 131072,
        tcpEstablishedTimeout: 86_400_000,
        tcpCloseWaitTimeout: 3_600_000,
        tcpBeLiberal: true,
        udpTimeout: 30_000,
        udpStreamTimeout: 120_000,
      },
      2,
    );
    expect(settings.minHashSize).toBe(32768);
    expect(settings.sysctls.map(({ name, value }) => `${name}=${value}`)).toEqual([
      'nf_conntrack_max=131072',
      'nf_conntrack_tcp_timeout_established=86400',
      'nf_conntrack_tcp_timeout_close_wait=3600',
      'nf_conntrack_tcp_be_liberal=1',
      'nf_conntrack_udp_timeout=30',
      'nf_conntrack_udp_timeout_stream=120',
    ]);
    expect(conntrackSettings(nothing, 2).minHashSize).toBeUndefined();
  });
});
