import { describe, expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { helpText } from './flag-help.ts';
import { flagDefinition, flagNames } from './flags.ts';
import { defaultConfiguration } from './from-v1alpha1.ts';
import { flagTexts, parseFlags } from './parse-flags.ts';

function refusal(...argv: string[]): string {
  try {
    parseFlags(argv);
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'CONFIG_FLAG_INVALID') return error.message;
  }
  throw new Error('not refused');
}

describe('the table of flags', () => {
  test('every default, set, leaves the default configuration as it is', () => {
    for (const name of flagNames) {
      const { set, default: byDefault, type } = flagDefinition(name);
      // Lists print "not given" and "empty" differently; an empty cluster CIDR flag is a list with one empty entry.
      if (set === undefined || type.label === 'list' || name === 'cluster-cidr') continue;
      const config = defaultConfiguration();
      // Empty words are filled in as platform defaults later.
      set(config, byDefault);
      expect(config, name).toEqual(defaultConfiguration());
    }
  });

  test('defaults print as text that parses to themselves', () => {
    for (const name of flagNames) {
      const { type, default: byDefault } = flagDefinition(name);
      if (type.label === 'list') continue;
      expect(type.parse(type.format(byDefault), undefined), name).toEqual(byDefault);
    }
  });

  test('every flag of kube-proxy 1.36 is there', () => {
    // Names from the table of operations 1.2; `--config` to `--machine-id-file`.
    const upstream =
      `config write-config-to cleanup init-only master hostname-override version feature-gates kubeconfig
      kube-api-content-type kube-api-burst kube-api-qps bind-address healthz-bind-address metrics-bind-address healthz-port
      metrics-port bind-address-hard-fail profiling show-hidden-metrics-for-version proxy-mode iptables-masquerade-bit
      masquerade-all iptables-localhost-nodeports iptables-sync-period iptables-min-sync-period ipvs-sync-period
      ipvs-min-sync-period ipvs-scheduler ipvs-exclude-cidrs ipvs-strict-arp ipvs-tcp-timeout ipvs-tcpfin-timeout
      ipvs-udp-timeout detect-local-mode pod-bridge-interface pod-interface-name-prefix cluster-cidr nodeport-addresses
      oom-score-adj conntrack-max-per-core conntrack-min conntrack-tcp-timeout-established
      conntrack-tcp-timeout-close-wait conntrack-tcp-be-liberal conntrack-udp-timeout conntrack-udp-timeout-stream
      config-sync-period v vmodule logging-format log-flush-frequency log-text-split-stream log-json-split-stream
      log-text-info-buffer-size log-json-info-buffer-size boot-id-file machine-id-file help`.split(/\s+/);
    const own = flagNames.filter((name) => !upstream.includes(name));
    expect(upstream.filter((name) => !(flagNames as readonly string[]).includes(name))).toEqual([]);
    expect(own.map((name) => flagDefinition(name).group)).toEqual(
      own.map(() => expect.stringContaining('Fairlead')),
    );
  });

  test('the help names every flag once, within 100 columns', () => {
    const help = helpText('kube-proxy', { 'show-plan': { summary: 'prints the plan' } });
    for (const name of flagNames) {
      expect(help.match(new RegExp(`^[* ] (-., |    )--${name}( .*)?$`, 'gm')), name).toHaveLength(1);
    }
    expect(help.split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect(help).toContain('show-plan');
  });
});

describe('parsing a command line (operations 1.1)', () => {
  test.each([
    [['--oom-score-adj=5'], 5],
    [['--oom-score-adj', '5'], 5],
    [['--oom_score_adj=5'], 5],
    [['--oom-score-adj', '-5'], -5],
    [['--oom-score-adj=0x10'], 16],
    [['--oom-score-adj=1_000'], 1000],
    [['--oom-score-adj=5', '--oom-score-adj=6'], 6],
    [['', '--oom-score-adj=5', ''], 5],
  ])('%j', (argv, value) => {
    const flags = parseFlags(argv);
    expect(flags.values['oom-score-adj']).toBe(value);
    expect([...flags.given]).toEqual(['oom-score-adj']);
  });

  test('booleans take their value behind an equals sign only', () => {
    expect(parseFlags(['--cleanup']).values.cleanup).toBe(true);
    expect(parseFlags(['--cleanup=f']).values.cleanup).toBe(false);
    expect(refusal('--cleanup', 'false')).toContain('"false"');
    expect(refusal('--cleanup=yes')).toContain('--cleanup');
  });

  test.each([['-v=4'], ['-v4'], ['-v', '4'], ['--v=4'], ['--v', '4']])('the level: %s %s', (...argv) => {
    expect(parseFlags(argv.filter((argument) => argument !== undefined)).values.v).toBe(4);
  });

  test('lists: the first use replaces, later ones append, quotes keep commas', () => {
    const list = (...uses: string[]) =>
      parseFlags(uses.map((use) => `--nodeport-addresses=${use}`)).values['nodeport-addresses'];
    expect(list('a,b', 'c')).toEqual(['a', 'b', 'c']);
    expect(list('')).toEqual([]);
    expect(list('"a,b",c,"d""e"')).toEqual(['a,b', 'c', 'd"e']);
    expect(list(',')).toEqual(['', '']);
    expect(refusal('--nodeport-addresses="a')).toContain('--nodeport-addresses');
    expect(refusal('--nodeport-addresses=a"b')).toContain('--nodeport-addresses');
  });

  test('feature gates merge, blank items are skipped', () => {
    const gates = (...uses: string[]) =>
      parseFlags(uses.map((use) => `--feature-gates=${use}`)).values['feature-gates'];
    expect(gates('A=true,,B=F', 'B=1,C=0')).toEqual({ A: true, B: true, C: false });
    expect(refusal('--feature-gates=A')).toContain('--feature-gates');
    expect(refusal('--feature-gates=A=yes')).toContain('--feature-gates');
  });

  test.each(['0.0.0.0', '127.0.0.1', '::1', '::', '0.0.0.0:8080', '[::1]:8080', '1.2.3.4:0', '010.0.0.1'])(
    'address %s is accepted',
    (text) => {
      expect(parseFlags(['--healthz-bind-address', text]).values['healthz-bind-address']).toBe(text);
    },
  );

  test.each([
    'invalidip',
    '0.0.0.0:invalidport',
    'invalidip:8080',
    'fd00:f00d:600d:f00d:8080',
    '1.2.3.4:65536',
    '[::1]',
  ])('address %s is refused', (text) => {
    expect(refusal('--healthz-bind-address', text)).toContain(text);
  });

  test('an empty address leaves the flag unset, as often as it is given', () => {
    const flags = parseFlags(['--bind-address=', '--bind-address=', '--healthz-bind-address', '']);
    expect(flags.given.size).toBe(0);
    expect(flags.values['bind-address']).toBe('0.0.0.0');
    expect(parseFlags(['--bind-address=', '--bind-address=10.0.0.1']).values['bind-address']).toBe(
      '10.0.0.1',
    );
  });

  test('durations are read in the syntax of Go', () => {
    expect(parseFlags(['--config-sync-period=2h22m']).values['config-sync-period']).toBe(8_520_000);
    expect(parseFlags(['--conntrack-udp-timeout=0']).values['conntrack-udp-timeout']).toBe(0);
    expect(refusal('--config-sync-period=30')).toContain('duration');
  });

  test('the version flag', () => {
    expect(parseFlags(['--version']).values.version).toBe('true');
    expect(parseFlags(['--version=raw']).values.version).toBe('raw');
    expect(parseFlags(['--version=v1.2.3-x']).values.version).toBe('v1.2.3-x');
    expect(parseFlags(['--version=false']).values.version).toBe('false');
    expect(refusal('--version=banana')).toContain('banana');
  });

  test('what is no flag, or an unknown one, is refused by name', () => {
    expect(refusal('extra-arg')).toContain('"extra-arg"');
    expect(refusal('--', '--cleanup')).toContain('"--cleanup"');
    expect(refusal('--nosuchflag')).toContain('--nosuchflag');
    expect(refusal('--toString')).toContain('--toString');
    expect(refusal('--clean-up')).toContain('did you mean --cleanup?');
    expect(refusal('-x')).toContain('-x');
    expect(refusal('--config')).toContain('needs a value');
    expect(refusal('--oom-score-adj=2147483648')).toContain('32-bit');
    expect(refusal('-v=-1')).toContain('-v');
  });

  test('deprecated flags warn once', () => {
    expect(parseFlags(['--healthz-port=1', '--healthz-port=2']).warnings).toHaveLength(1);
    expect(parseFlags(['--healthz-bind-address=1.2.3.4']).warnings).toHaveLength(0);
  });

  test('values as text, for the log and /flagz', () => {
    const texts = Object.fromEntries(
      flagTexts(parseFlags(['--feature-gates=B=true,A=false', '--vmodule=a=1,b*=2'])).map(
        ({ name, value }) => [name, value],
      ),
    );
    expect(texts).toMatchObject({
      'feature-gates': 'A=false,B=true',
      vmodule: 'a=1,b*=2',
      'config-sync-period': '15m0s',
      'nodeport-addresses': '[]',
      cleanup: 'false',
      v: '0',
    });
    expect(Object.keys(texts)).toEqual(Object.keys(texts).toSorted());
  });
});
