import { describe, expect, test } from 'vitest';
import { resolveFeatureGates } from './feature-gates.ts';
import { describeFieldErrors } from './field-error.ts';
import { defaultConfiguration } from './from-v1alpha1.ts';
import type { ConfigurationDraft } from './proxy-configuration.ts';
import { parseQuantity } from './quantity.ts';
import { validateConfiguration } from './validate-configuration.ts';
import { validateLogging } from './validate-logging.ts';

type Change = (config: ConfigurationDraft) => unknown;

/** The base of the vectors in operations 2.5. */
function base(change: Change = () => {}): ConfigurationDraft {
  const config = defaultConfiguration();
  config.mode = 'iptables';
  config.bindAddress = '192.168.59.103';
  config.detectLocalMode = 'ClusterCIDR';
  config.detectLocal.clusterCIDRs = ['192.168.59.0/24'];
  config.syncPeriod = 5_000;
  config.minSyncPeriod = 2_000;
  config.configSyncPeriod = 1_000;
  config.conntrack.maxPerCore = 1;
  config.conntrack.min = 1;
  config.conntrack.tcpEstablishedTimeout = 5_000;
  config.conntrack.tcpCloseWaitTimeout = 5_000;
  change(config);
  return config;
}

const gates = resolveFeatureGates({});

/** `path=value` of each error, paths without the common prefix; another kind than "Invalid value" is named. */
function errors(change: Change, configured = gates): string[] {
  return validateConfiguration(base(change), configured).map(({ field, kind, value }) => {
    expect(field).toMatch(/^KubeProxyConfiguration\./);
    const path = field.replace('KubeProxyConfiguration.', '');
    return `${kind === 'Invalid value' ? '' : `${kind} `}${path}=${JSON.stringify(value)}`;
  });
}

describe('validation (operations 2.4, 2.5)', () => {
  test.each<[string, Change]>([
    ['nothing', () => {}],
    ['mode ipvs', (c) => Object.assign(c, { mode: 'ipvs' })],
    ['mode userspace', (c) => Object.assign(c, { mode: 'userspace' })],
    ['no mode', (c) => Object.assign(c, { mode: '' })],
    ['no healthz', (c) => Object.assign(c, { healthzBindAddress: '' })],
    ['healthz on a port', (c) => Object.assign(c, { healthzBindAddress: '0.0.0.0:12345' })],
    [
      'IPv6',
      (c) => {
        c.bindAddress = 'fd00:192:168:59::103';
        c.healthzBindAddress = '';
        c.metricsBindAddress = '[::1]:10249';
        c.detectLocal.clusterCIDRs = ['fd00:192:168:59::/64'];
      },
    ],
    [
      'cluster CIDR of the other family',
      (c) => Object.assign(c.detectLocal, { clusterCIDRs: ['fd00:192:168::/64'] }),
    ],
    [
      'both families',
      (c) => Object.assign(c.detectLocal, { clusterCIDRs: ['192.168.59.0/24', 'fd00:192:168::/64'] }),
    ],
    [
      'bridge',
      (c) =>
        Object.assign(c, {
          detectLocalMode: 'BridgeInterface',
          detectLocal: { ...c.detectLocal, bridgeInterface: 'avz' },
        }),
    ],
    [
      'prefix',
      (c) =>
        Object.assign(c, {
          detectLocalMode: 'InterfaceNamePrefix',
          detectLocal: { ...c.detectLocal, interfaceNamePrefix: 'vethabcde' },
        }),
    ],
    ['oom', (c) => Object.assign(c, { oomScoreAdj: 999 })],
    ['burst 0', (c) => Object.assign(c.clientConnection, { burst: 0 })],
    [
      'all conntrack durations 0',
      (c) =>
        Object.assign(c.conntrack, {
          tcpEstablishedTimeout: 0,
          tcpCloseWaitTimeout: 0,
          udpTimeout: 0,
          udpStreamTimeout: 0,
        }),
    ],
    ['negative timeouts of another mode', (c) => Object.assign(c.ipvs, { tcpTimeout: -1 })],
    ['nftables bit in another mode', (c) => Object.assign(c.nftables, { masqueradeBit: 99 })],
  ])('ok: %s', (_name, change) => {
    expect(errors(change)).toEqual([]);
  });

  test.each<[string[], Change]>([
    [['BindAddress="10.10.12.11:2000"'], (c) => Object.assign(c, { bindAddress: '10.10.12.11:2000' })],
    [['BindAddress="[::]"'], (c) => Object.assign(c, { bindAddress: '[::]' })],
    [['HealthzBindAddress="0.0.0.0"'], (c) => Object.assign(c, { healthzBindAddress: '0.0.0.0' })],
    [['MetricsBindAddress="127.0.0.1"'], (c) => Object.assign(c, { metricsBindAddress: '127.0.0.1' })],
    [['MetricsBindAddress=""'], (c) => Object.assign(c, { metricsBindAddress: '' })],
    [['ConfigSyncPeriod="-1s"'], (c) => Object.assign(c, { configSyncPeriod: -1_000 })],
    [['SyncPeriod="-5s"', 'SyncPeriod="2s"'], (c) => Object.assign(c, { syncPeriod: -5_000 })],
    [['MinSyncPeriod="-2s"'], (c) => Object.assign(c, { minSyncPeriod: -2_000 })],
    [['SyncPeriod="5s"'], (c) => Object.assign(c, { syncPeriod: 1_000, minSyncPeriod: 5_000 })],
    [['Unsupported value DetectLocalMode="Guess"'], (c) => Object.assign(c, { detectLocalMode: 'Guess' })],
    [
      ['DetectLocalConfiguration.InterfaceName=""'],
      (c) => Object.assign(c, { detectLocalMode: 'BridgeInterface' }),
    ],
    [
      ['DetectLocalConfiguration.InterfacePrefix=""'],
      (c) => Object.assign(c, { detectLocalMode: 'InterfaceNamePrefix' }),
    ],
    [
      ['logging.format="unsupported format"'],
      (c) => Object.assign(c.logging, { format: 'unsupported format' }),
    ],
    [['KubeProxyLinuxConfiguration.OOMScoreAdj=-1001'], (c) => Object.assign(c, { oomScoreAdj: -1001 })],
    [['KubeProxyLinuxConfiguration.OOMScoreAdj=1001'], (c) => Object.assign(c, { oomScoreAdj: 1001 })],
    [['Mode.ProxyMode="kernelspace"'], (c) => Object.assign(c, { mode: 'kernelspace' })],
    [['Mode.ProxyMode="toString"'], (c) => Object.assign(c, { mode: 'toString' })],
    [['ClientConnection.Burst=-5'], (c) => Object.assign(c.clientConnection, { burst: -5 })],
    [
      ['KubeProxyIPTablesConfiguration.MasqueradeBit=32'],
      (c) =>
        Object.assign(c, { mode: 'nftables', iptables: { masqueradeBit: 32, localhostNodePorts: true } }),
    ],
    [
      ['KubeProxyNFTablesConfiguration.MasqueradeBit=-1'],
      (c) => Object.assign(c, { mode: 'nftables', nftables: { masqueradeBit: -1 } }),
    ],
  ])('%j', (expected, change) => {
    expect(errors(change)).toEqual(expected);
  });

  test.each([
    ['0.0.0.0:10256', []],
    ['127.0.0.1:10256', []],
    ['10.10.10.10:10256', []],
    ['[::1]:1', []],
    ['10.10.10.10', ['10.10.10.10']],
    ['::1', ['::1']],
    ['[::1]', ['[::1]']],
    ['123.456.789.10:12345', ['123.456.789.10']],
    ['10.10.10.10:foo', ['foo']],
    ['10.10.10.10:0', ['0']],
    ['10.10.10.10:65536', ['65536']],
    ['10.10.10.10:', ['']],
    ['host:port', ['host', 'port']],
    [':10256', ['']],
  ])('host and port %j', (address, values) => {
    const found = validateConfiguration(
      base((c) => Object.assign(c, { healthzBindAddress: address })),
      gates,
    );
    expect(found.map(({ value }) => value)).toEqual(values);
  });

  const index = (list: string[], path: string, set: (c: ConfigurationDraft, list: string[]) => unknown) =>
    validateConfiguration(
      base((c) => set(c, list)),
      gates,
    ).map(({ field }) => field.replace(`KubeProxyConfiguration.${path}`, ''));

  test.each([
    [[], []],
    [['127.0.0.0/8'], []],
    [['0.0.0.0/0'], []],
    [['::/0'], []],
    [['127.0.0.1/32', '1.2.3.0/24'], []],
    [['::1/128'], []],
    [['10.20.0.0/16', '100.200.0.0/16'], []],
    [['2001:db8::/32'], []],
    [['primary'], []],
    [['foo'], ['[0]']],
    [['10.0.0.0/0', '1.2.3'], ['[1]']],
    [['127.0.0.1/32', '0', '1.2.3.0/24'], ['[1]']],
    [['127.0.0.1/32', '10.20.30.40', '1.2.3.0/24'], ['[1]']],
    [
      ['::0', '::1', '2001:db8::/32'],
      ['[0]', '[1]'],
    ],
    [['::1/128', '2001:db8::/32', '2001:db8:xyz/64'], ['[2]']],
    [['primary', '127.0.0.1/32'], ['[0]']],
    [['127.0.0.1/32', 'primary'], ['[1]']],
    [['primary', 'foo'], ['[0]']],
  ])('nodePortAddresses %j: errors at %j', (list, expected) => {
    expect(
      index(list, 'NodePortAddresses', (c, value) => Object.assign(c, { nodePortAddresses: value })),
    ).toEqual(expected);
  });

  test.each([
    [[], []],
    [['192.168.0.0/16'], []],
    [['fd00:10:96::/112'], []],
    [['172.16.200.0/24', 'fde4:8dba:82e1::/48'], []],
    [['192.168.0.0/16', 'fd00:10:96::/112', '10.0.0.0/8'], ['']],
    [['fd00:10:96::/112', 'fde4:8dba:82e1::/48'], ['']],
    [['fde4:8dba:82e1::/48', '172.16.200.0:24'], ['[1]']],
    [['fd00:10:96::', '192.168.0.0/16'], ['[0]']],
    [['192.168.59.0'], ['[0]']],
    [[''], ['[0]']],
    [['10.0.0.0/8', ' fd00::/8'], ['[1]']],
  ])('cluster CIDRs %j: errors at %j', (list, expected) => {
    const path = 'DetectLocalConfiguration.ClusterCIDRs';
    expect(index(list, path, (c, value) => Object.assign(c.detectLocal, { clusterCIDRs: value }))).toEqual(
      expected,
    );
    const other: Change = (c) =>
      Object.assign(c, {
        detectLocalMode: 'NodeCIDR',
        detectLocal: { ...c.detectLocal, clusterCIDRs: list },
      });
    expect(errors(other)).toEqual([]);
  });

  test('all ipvs faults, in ipvs mode only', () => {
    const ipvs = {
      scheduler: '',
      excludeCIDRs: ['10.0.0.0/8', 'x', '10.0.0.1'],
      strictARP: false,
      tcpTimeout: -1000,
      tcpFinTimeout: -1000,
      udpTimeout: -1000,
    };
    expect(errors((c) => Object.assign(c, { mode: 'ipvs', ipvs }))).toEqual([
      'KubeProxyIPVSConfiguration.TCPTimeout="-1s"',
      'KubeProxyIPVSConfiguration.TCPFinTimeout="-1s"',
      'KubeProxyIPVSConfiguration.UDPTimeout="-1s"',
      'KubeProxyIPVSConfiguration.ExcludeCidrs[1]="x"',
      'KubeProxyIPVSConfiguration.ExcludeCidrs[2]="10.0.0.1"',
    ]);
    expect(errors((c) => Object.assign(c, { ipvs }))).toEqual([]);
  });

  test('one error reads by itself, several in brackets, equal ones once', () => {
    const one = validateConfiguration(
      base((c) => Object.assign(c, { bindAddress: 'x' })),
      gates,
    );
    const text =
      'KubeProxyConfiguration.BindAddress: Invalid value: "x": must be an IP address without brackets or port (bindAddress)';
    expect(describeFieldErrors(one)).toBe(text);
    expect(describeFieldErrors([...one, ...one])).toBe(text);
    expect(describeFieldErrors([...one, { ...one[0]!, field: 'Y', place: 'f:3' }])).toBe(
      `[${text}, Y: Invalid value: "x": must be an IP address without brackets or port (bindAddress, f:3)]`,
    );
  });
});

describe('logging rules (operations 2.4)', () => {
  const logging = (change: (logging: ConfigurationDraft['logging']) => unknown, configured = {}) => {
    const config = defaultConfiguration();
    change(config.logging);
    return validateLogging(config.logging, resolveFeatureGates(configured)).map(
      ({ field, kind }) => `${field} ${kind}`,
    );
  };

  test.each<[string[], (logging: ConfigurationDraft['logging']) => unknown, Record<string, boolean>?]>([
    [[], () => {}],
    [[], (l) => Object.assign(l, { format: 'json' })],
    [['logging.flushFrequency Invalid value'], (l) => Object.assign(l, { flushFrequency: -1 })],
    [['logging.format Invalid value'], (l) => Object.assign(l, { format: 'xml' })],
    [
      ['logging.format Forbidden'],
      (l) => Object.assign(l, { format: 'json' }),
      { LoggingBetaOptions: false },
    ],
    [['logging.verbosity Invalid value'], (l) => Object.assign(l, { verbosity: 2 ** 31 })],
    [[], (l) => Object.assign(l, { verbosity: 2 ** 31 - 1 })],
    [
      ['logging.vmodule Forbidden'],
      (l) => Object.assign(l, { format: 'json', vmodule: [{ filePattern: 'a', verbosity: 1 }] }),
    ],
    [
      [
        'logging.vmodule[0] Required value',
        'logging.vmodule[1] Invalid value',
        'logging.vmodule[2] Invalid value',
      ],
      (l) =>
        Object.assign(l, {
          vmodule: [
            { filePattern: '', verbosity: 1 },
            { filePattern: 'a=b', verbosity: 1 },
            { filePattern: 'c', verbosity: 2 ** 31 },
          ],
        }),
    ],
    [
      ['logging.options.text.infoBufferSize Forbidden', 'logging.options.json.splitStream Forbidden'],
      (l) => {
        l.options.text.infoBufferSize = parseQuantity('1K')!;
        l.options.json.splitStream = true;
      },
    ],
    [[], (l) => Object.assign(l.options.json, { splitStream: true }), { LoggingAlphaOptions: true }],
  ])('%j', (expected, change, configured) => {
    expect(logging(change, configured)).toEqual(expected);
  });
});
