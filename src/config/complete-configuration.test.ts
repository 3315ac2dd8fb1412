import { describe, expect, test } from 'vitest';
import { checkConfiguration, completeConfiguration, withDeprecatedPort } from './complete-configuration.ts';
import { ConfigError } from './config-error.ts';
import { parseFlags } from './parse-flags.ts';
import { printYaml } from './print-yaml.ts';
import { toV1alpha1 } from './to-v1alpha1.ts';

const head = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

function complete(argv: string[], file?: string) {
  const flags = parseFlags(file === undefined ? argv : ['--config=/etc/c.conf', ...argv]);
  return completeConfiguration(flags, () => head + (file ?? ''));
}
const configure = (argv: string[], file?: string) => complete(argv, file).draft;

describe('flags (operations 1.7)', () => {
  const periods = [
    '--iptables-sync-period=36s',
    '--iptables-min-sync-period=3s',
    '--ipvs-sync-period=16s',
    '--ipvs-min-sync-period=7s',
  ];
  test.each([
    ['iptables', 36_000, 3_000],
    ['nftables', 36_000, 3_000],
    ['userspace', 36_000, 3_000],
    ['ipvs', 16_000, 7_000],
  ])('sync periods in mode %s', (mode, syncPeriod, minSyncPeriod) => {
    expect(configure([`--proxy-mode=${mode}`, ...periods])).toMatchObject({ syncPeriod, minSyncPeriod });
  });

  test('ipvs by flag alone keeps the minimum of 1s, 0 is 0', () => {
    expect(configure(['--proxy-mode=ipvs']).minSyncPeriod).toBe(1_000);
    expect(configure([], 'mode: ipvs\n').minSyncPeriod).toBe(0);
    expect(configure(['--iptables-min-sync-period=0']).minSyncPeriod).toBe(0);
  });

  test('cluster CIDRs keep their order', () => {
    expect(configure(['--cluster-cidr=2002:0:0:1234::/64,10.0.0.0/14']).detectLocal.clusterCIDRs).toEqual([
      '2002:0:0:1234::/64',
      '10.0.0.0/14',
    ]);
    expect(configure(['--cluster-cidr=']).detectLocal.clusterCIDRs).toEqual(['']);
  });

  test('zeros on the command line are kept', () => {
    const { conntrack } = configure([
      '--conntrack-max-per-core=0',
      '--conntrack-min=0',
      '--conntrack-tcp-timeout-established=0',
      '--conntrack-tcp-timeout-close-wait=0',
    ]);
    expect(conntrack).toMatchObject({
      maxPerCore: 0,
      min: 0,
      tcpEstablishedTimeout: 0,
      tcpCloseWaitTimeout: 0,
    });
  });

  test('of the flags only those for logging, host name and our own count beside a file, and win', () => {
    const file =
      'logging: {verbosity: 10, vmodule: [{filePattern: foo.go, verbosity: 6}, {filePattern: bar.go, verbosity: 8}]}\nipvs: {scheduler: sh}\nfairlead: {manifests: /a}\nhostnameOverride: foo\n';
    const { draft, warnings } = complete(
      [
        '-v=7',
        '--vmodule',
        'goo.go=8',
        '--ipvs-scheduler',
        'x',
        '--manifests=/b',
        '--hostname-override= Bar ',
      ],
      file,
    );
    expect(draft.logging.verbosity).toBe(7);
    expect(draft.logging.vmodule.map((item) => `${item.filePattern}=${item.verbosity}`)).toEqual([
      'goo.go=8',
      'foo.go=6',
      'bar.go=8',
    ]);
    expect(draft.ipvs.scheduler).toBe('sh');
    expect(draft.fairlead.manifests).toBe('/b');
    expect(draft.hostnameOverride).toBe('bar');
    expect(warnings).toEqual([
      { message: 'Flags without effect, because --config is given', values: { flags: '--ipvs-scheduler' } },
    ]);
  });

  test('logging flags that are not given leave the file alone', () => {
    const { logging } = configure(
      ['--log-flush-frequency=2s'],
      'logging: {format: json, flushFrequency: 7000000000, verbosity: 3}\n',
    );
    expect(logging).toMatchObject({
      format: 'json',
      verbosity: 3,
      flushFrequency: 2_000,
      flushFrequencyIsInteger: true,
    });
  });

  test.each([
    ['1.2.3.4', 12345, '1.2.3.4:12345'],
    ['1.2.3.4:12345', 23456, '1.2.3.4:12345'],
    ['fd00:1::5', 12345, '[fd00:1::5]:12345'],
    ['[fd00:1::5]:12345', 1, '[fd00:1::5]:12345'],
    ['[fd00:1::5]', 12345, '[fd00:1::5]'],
    ['1.2.3.4:12345', 0, ''],
    ['fd00:1::5', 0, ''],
  ])('address %s and deprecated port %d make %j', (address, port, expected) => {
    expect(withDeprecatedPort(address, port)).toBe(expected);
  });

  test('deprecated ports count on the command line, not with --config or --write-config-to', () => {
    expect(configure(['--healthz-bind-address=1.2.3.4', '--healthz-port=5']).healthzBindAddress).toBe(
      '1.2.3.4:5',
    );
    expect(configure(['--healthz-port=5']).healthzBindAddress).toBe('0.0.0.0:10256');
    expect(configure(['--healthz-port=0']).healthzBindAddress).toBe('');
    expect(configure(['--healthz-port=0'], '').healthzBindAddress).toBe('0.0.0.0:10256');
    expect(configure(['--healthz-port=0', '--write-config-to=x']).healthzBindAddress).toBe('0.0.0.0:10256');
  });

  test('--bind-address does not move the server addresses, bindAddress does', () => {
    expect(configure(['--bind-address=fd00::1']).metricsBindAddress).toBe('127.0.0.1:10249');
    expect(configure([], 'bindAddress: fd00::1\n').metricsBindAddress).toBe('[::1]:10249');
    expect(configure([], 'bindAddress: junk\n').metricsBindAddress).toBe('[::1]:10249');
  });
});

describe('host name override (operations 1.5)', () => {
  const file = 'hostnameOverride: foo\n';
  test('the flag wins, trimmed and in lower case', () => {
    expect(configure(['--hostname-override='], file).hostnameOverride).toBe('foo');
    expect(configure(['--hostname-override=  Bar '], file).hostnameOverride).toBe('bar');
  });

  test('a blank flag is refused', () => {
    expect(() => configure(['--hostname-override=   '], file)).toThrow(
      expect.objectContaining({ code: 'CONFIG_HOSTNAME_EMPTY' }),
    );
  });
});

describe('which block feeds the run-time values (operations 2.3)', () => {
  const file = (mode: string) =>
    `mode: "${mode}"
iptables: {syncPeriod: 11s, minSyncPeriod: 1s, masqueradeAll: true}
ipvs: {syncPeriod: 12s, minSyncPeriod: 2s}
nftables: {syncPeriod: 13s, minSyncPeriod: 3s, masqueradeAll: false}
`;
  test.each([
    ['', 11_000, 1_000, true],
    ['iptables', 11_000, 1_000, true],
    ['userspace', 11_000, 1_000, true],
    ['ipvs', 12_000, 2_000, true],
    ['nftables', 13_000, 3_000, false],
  ])('mode %j', (mode, syncPeriod, minSyncPeriod, masqueradeAll) => {
    expect(configure([], file(mode))).toMatchObject({ syncPeriod, minSyncPeriod, masqueradeAll });
  });
});

test('an error of validation says where the value was given', () => {
  const fails = (argv: string[], file?: string): string => {
    try {
      checkConfiguration(complete(argv, file));
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
    }
    throw new Error('not refused');
  };
  expect(
    fails([], 'oomScoreAdj: 5000\nnodePortAddresses:\n- bad\nipvs: {syncPeriod: -1s}\nmode: ipvs\n'),
  ).toMatch(
    /OOMScoreAdj: .*\(oomScoreAdj, \/etc\/c\.conf:3\).*NodePortAddresses\[0\]: .*\(nodePortAddresses\[0\], \/etc\/c\.conf:4\)/,
  );
  expect(fails([], 'ipvs: {syncPeriod: -1s}\nmode: ipvs\n')).toContain('(ipvs.syncPeriod, /etc/c.conf:3)');
  expect(fails(['--oom-score-adj=5000'])).toContain('(oomScoreAdj, --oom-score-adj)');
});

test('a file that cannot be read is named, with the reason', () => {
  const flags = parseFlags(['--config=/none']);
  const readFile = () => {
    throw new Error('ENOENT');
  };
  expect(() => completeConfiguration(flags, readFile)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_FILE_UNREADABLE',
      message: 'cannot read /none',
      cause: new Error('ENOENT'),
    }),
  );
});

test('/configz prints the keys in upstream order', () => {
  const printed = toV1alpha1(configure(['--feature-gates=AllAlpha=false', '--manifests=/m']));
  expect(Object.keys(printed)).toEqual(
    `kind apiVersion featureGates clientConnection logging hostnameOverride bindAddress healthzBindAddress metricsBindAddress
    bindAddressHardFail enableProfiling showHiddenMetricsForVersion mode iptables ipvs nftables winkernel detectLocalMode
    detectLocal clusterCIDR nodePortAddresses oomScoreAdj conntrack configSyncPeriod portRange fairlead`.split(
      /\s+/,
    ),
  );
});

test('what is written is read back as the same configuration', () => {
  const first = configure(
    [],
    'mode: nftables\nlogging: {flushFrequency: 1000}\nnftables: {masqueradeAll: true}\nconntrack: {udpTimeout: 1.5s}\nclientConnection: {qps: 0.1}\nfairlead: {manifests: /m}\n',
  );
  const written = printYaml(toV1alpha1(first));
  const second = completeConfiguration(parseFlags(['--config=x']), () => written);
  expect(second.draft).toEqual(first);
  expect(second.warnings).toEqual([]);
});
