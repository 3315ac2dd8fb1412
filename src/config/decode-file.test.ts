import { describe, expect, test } from 'vitest';
import { ConfigError, type FileFault } from './config-error.ts';
import { type DecodedFile, decodeFile } from './decode-file.ts';

const head = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
const decode = (body: string): DecodedFile => decodeFile('x.conf', head + body);

function faults(content: string): readonly FileFault[] {
  try {
    decodeFile('x.conf', content);
  } catch (error) {
    if (error instanceof ConfigError && error.detail.code === 'CONFIG_FILE_UNDECODABLE')
      return error.detail.faults;
    throw error;
  }
  throw new Error('not refused');
}

/** `line field` of each fault. */
const places = (content: string) => faults(content).map((fault) => `${fault.line} ${fault.field}`);

describe('decoding a configuration file (operations 2.1)', () => {
  test('reports all faults at once, each with line and field', () => {
    const body = [
      'mode: 3',
      'conntrack:',
      '  min: "abc"',
      '  maxPerCore: 2147483648',
      '  tcpBeLiberal: "true"',
      'iptables: {syncPeriod: 30, minSyncPeriod: null}',
      'nodePortAddresses: primary',
      'featureGates: {A: 1}',
      'ipvs: [1]',
      'logging:',
      '  vmodule:',
      '  - filePattern: a',
      '    verbosity: -1',
      '',
    ];
    expect(places(head + body.join('\n'))).toEqual([
      '3 mode',
      '5 conntrack.min',
      '6 conntrack.maxPerCore',
      '7 conntrack.tcpBeLiberal',
      '8 iptables.syncPeriod',
      '8 iptables.minSyncPeriod',
      '9 nodePortAddresses',
      '10 featureGates.A',
      '11 ipvs',
      '15 logging.vmodule[0].verbosity',
    ]);
    expect(() => decode('mode: 3\n')).toThrow(
      'failed to decode: x.conf:3: mode: must be a string, not the number 3',
    );
  });

  test('null is unset, but no duration', () => {
    const { fields } = decode(
      'iptables: null\nconntrack: {maxPerCore: null, tcpCloseWaitTimeout: null, tcpBeLiberal: null}\nnodePortAddresses: ~\nmode:\n',
    );
    expect(fields.conntrack.maxPerCore).toBeUndefined();
    expect(fields.conntrack.tcpCloseWaitTimeout).toBeUndefined();
    expect(fields.nodePortAddresses).toBeUndefined();
    expect(fields.mode).toBe('');
    expect(places(`${head}configSyncPeriod: null\nconntrack: {udpTimeout: }\n`)).toEqual([
      '3 configSyncPeriod',
      '4 conntrack.udpTimeout',
    ]);
  });

  test('scalars are read by YAML 1.1', () => {
    const { fields } = decode(
      'enableProfiling: yes\nbindAddressHardFail: on\niptables: {localhostNodePorts: off, masqueradeBit: 0xf}\noomScoreAdj: -0x10\nbindAddress: ::0\nclientConnection: {burst: 1e3, qps: 0.1}\nipvs: {strictARP: !!bool "true"}\n',
    );
    expect(fields.enableProfiling).toBe(true);
    expect(fields.bindAddressHardFail).toBe(true);
    expect(fields.iptables.localhostNodePorts).toBe(false);
    expect(fields.iptables.masqueradeBit).toBe(15);
    expect(fields.oomScoreAdj).toBe(-16);
    expect(fields.bindAddress).toBe('::0');
    expect(fields.clientConnection).toMatchObject({ burst: 1000, qps: 0.1 });
    expect(places(`${head}hostnameOverride: no\nmode: 1.5\n`)).toEqual(['3 hostnameOverride', '4 mode']);
    expect(decode('hostnameOverride: "no"\n').fields.hostnameOverride).toBe('no');
    expect(decode('hostnameOverride: 1:30\n').fields.hostnameOverride).toBe('1:30');
  });

  test('anchors, aliases and merge keys work', () => {
    const { fields } = decode(
      'iptables: &p {syncPeriod: 7s, minSyncPeriod: 2s}\nnftables: *p\nwinkernel: &w {networkName: a, sourceVip: b}\nipvs: {<<: *p, minSyncPeriod: 3s}\n',
    );
    expect(fields.nftables.syncPeriod).toBe(7000);
    expect(fields.ipvs).toMatchObject({ syncPeriod: 7000, minSyncPeriod: 3000 });
    expect(faults(`${head}iptables: &a {syncPeriod: *a}\n`)[0]?.message).toContain('contains itself');
    expect(faults(`${head}iptables: *nowhere\n`)[0]?.line).toBe(3);
  });

  test('nested aliases do not blow up', () => {
    const levels = Array.from({ length: 40 }, (_, i) => `l${i + 1}: &l${i + 1} [*l${i}, *l${i}]`);
    const started = performance.now();
    const { strictFaults } = decode(`l0: &l0 [x]\n${levels.join('\n')}\n`);
    expect(strictFaults).toHaveLength(41);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test('what strict decoding minds is reported with line and hint, and does not count', () => {
    const { fields, strictFaults } = decode(
      'foo: bar\nBindAddress: 1.1.1.1\niptables:\n  masqueradebit: 3\nmode: ipvs\nmode: nftables\nnftables: {masqueradeAll: true}\nnftables: {syncPeriod: 5s}\n',
    );
    expect(fields).toMatchObject({ bindAddress: '', mode: 'nftables' });
    expect(fields.iptables.masqueradeBit).toBeUndefined();
    // Of a block given twice the last counts as a whole.
    expect(fields.nftables).toMatchObject({ masqueradeAll: false, syncPeriod: 5000 });
    expect(strictFaults.map((fault) => fault.replace(/^x\.conf:/, ''))).toEqual([
      '8: mode: given twice, first on line 7; the last one counts',
      '10: nftables: given twice, first on line 9; the last one counts',
      '3: foo: unknown field, ignored',
      '4: BindAddress: unknown field, ignored; the name is spelt bindAddress',
      '6: iptables.masqueradebit: unknown field, ignored; the name is spelt masqueradeBit',
    ]);
  });

  test('the flush frequency is a duration or a number of nanoseconds', () => {
    expect(decode('logging: {flushFrequency: 3s}\n').fields.logging.flushFrequency).toEqual({
      milliseconds: 3000,
      isInteger: false,
    });
    expect(decode('logging: {flushFrequency: 1500000000}\n').fields.logging.flushFrequency).toEqual({
      milliseconds: 1500,
      isInteger: true,
    });
    expect(places(`${head}logging: {flushFrequency: 1.5}\n`)).toEqual(['3 logging.flushFrequency']);
    const options = decode(
      'logging: {options: {json: {infoBufferSize: 2Ki}, text: {infoBufferSize: 1024}}}\n',
    ).fields;
    expect(options.logging.options.json.infoBufferSize).toEqual({ value: 2048, text: '2Ki' });
    expect(options.logging.options.text.infoBufferSize).toEqual({ value: 1024, text: '1024' });
  });

  test.each([
    ['free text', 'hello\n', '1 '],
    ['nothing', '', '1 '],
    ['comments only', '# nothing\n', '1 '],
    ['a list', '- a\n', '1 '],
    ['an open bracket', 'a: [1\n', '2 '],
    ['an unquoted ::', `${head}bindAddress: ::\n`, '3 '],
    ['a tab as indent', `${head}iptables:\n\tsyncPeriod: 1s\n`, '4 '],
    ['no kind', 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\n', '1 kind'],
    ['no version', 'kind: KubeProxyConfiguration\n', '1 apiVersion'],
    ['another kind', head.replace('KubeProxy', 'KubeScheduler'), '2 kind'],
    ['another version', head.replace('v1alpha1', 'v1alpha2'), '1 apiVersion'],
    ['a number as kind', 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: 3\n', '2 kind'],
  ])('%s is refused', (_name, content, place) => {
    expect(places(content)[0]).toBe(place);
  });

  test('JSON and the first of several documents are read', () => {
    expect(
      decodeFile(
        'x',
        JSON.stringify({
          apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
          kind: 'KubeProxyConfiguration',
          mode: 'ipvs',
        }),
      ).fields.mode,
    ).toBe('ipvs');
    expect(decodeFile('x', `---\n${head}mode: ipvs\n---\na: [\n`).fields.mode).toBe('ipvs');
  });

  test('our own section is no strict fault', () => {
    const { fields, strictFaults } = decode('fairlead:\n  manifests: /etc/services\n');
    expect(fields.fairlead.manifests).toBe('/etc/services');
    expect(strictFaults).toEqual([]);
  });

  test('a field named like a property of every object is unknown', () => {
    const { strictFaults, fields } = decode(
      'toString: 1\n__proto__: {mode: ipvs}\nfeatureGates: {__proto__: true}\n',
    );
    expect(strictFaults).toHaveLength(2);
    expect(fields.mode).toBe('');
    expect(Object.keys(fields.featureGates)).toEqual(['__proto__']);
  });

  test('what kubeadm writes, undefaulted, is read', () => {
    const { strictFaults } = decode(
      `bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection: {acceptContentTypes: "", burst: 0, contentType: "", kubeconfig: /var/lib/kube-proxy/kubeconfig.conf, qps: 0}
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack: {maxPerCore: null, min: null, tcpBeLiberal: false, tcpCloseWaitTimeout: null, tcpEstablishedTimeout: null, udpStreamTimeout: 0s, udpTimeout: 0s}
detectLocal: {bridgeInterface: "", interfaceNamePrefix: ""}
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables: {localhostNodePorts: null, masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
ipvs: {excludeCIDRs: null, minSyncPeriod: 0s, scheduler: "", strictARP: false, syncPeriod: 0s, tcpFinTimeout: 0s, tcpTimeout: 0s, udpTimeout: 0s}
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 0}
metricsBindAddress: ""
mode: ""
nftables: {masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel: {enableDSR: false, forwardHealthCheckVip: false, networkName: "", rootHnsEndpointName: "", sourceVip: ""}
`,
    );
    expect(strictFaults).toEqual([]);
  });
});
