import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../kube/json/json-fields.ts';
import { anonymous } from './cluster-access.ts';
import { CredentialsError } from './credentials-error.ts';
import { inClusterAccess } from './in-cluster-access.ts';
import { kubeconfigAccess } from './kubeconfig.ts';
import { readKubeconfig } from './read-kubeconfig.ts';

const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const base64 = Buffer.from(pem).toString('base64');

function config(cluster: object, user: object = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'default',
    clusters: [
      { name: 'other', cluster: { server: 'https://wrong' } },
      { name: 'c', cluster },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'default', context: { cluster: 'c', user: 'u' } }],
  };
}

const access = (cluster: object, user?: object, master = '') =>
  kubeconfigAccess({ file: '/etc/kube/config', document: config(cluster, user) }, master);
const problem = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof CredentialsError) return error.message;
    throw error;
  }
  throw new Error('nothing was wrong');
};

describe('kubeconfigAccess', () => {
  test('as kubeadm writes it for kube-proxy', async () => {
    const text = `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://control-plane:6443
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
`;
    const document = await readKubeconfig('/var/lib/kube-proxy/kubeconfig.conf', text);
    expect(kubeconfigAccess({ file: '/var/lib/kube-proxy/kubeconfig.conf', document }, '')).toEqual({
      server: 'https://control-plane:6443',
      ca: { file: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' },
      tlsServerName: undefined,
      insecureSkipTlsVerify: false,
      proxyUrl: undefined,
      user: { ...anonymous, tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' },
    });
  });

  test('relative names start from the directory of the kubeconfig; data wins over files', () => {
    const result = access(
      { server: 'https://a:6443/', 'certificate-authority': 'pki/ca.crt' },
      {
        'client-certificate': '../cert.pem',
        'client-key': 'key.pem',
        'client-key-data': base64,
        tokenFile: 'token',
      },
    );
    expect(result.ca).toEqual({ file: '/etc/kube/pki/ca.crt' });
    expect(result.user.clientCertificate).toEqual({ file: '/etc/cert.pem' });
    expect(result.user.clientKey).toEqual({ pem });
    expect(result.user.tokenFile).toBe('/etc/kube/token');
    expect(result.server).toBe('https://a:6443');
  });

  test.each([
    [{ server: 'https://a/k8s/clusters/x/' }, '', 'https://a/k8s/clusters/x'],
    [{ server: 'https://a:443' }, '', 'https://a'],
    [{ server: 'https://a' }, 'https://b:6443', 'https://b:6443'],
    [{}, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    [{ server: '10.0.0.1:6443' }, '', 'http://10.0.0.1:6443'],
    [{ server: '10.0.0.1:6443', 'certificate-authority-data': base64 }, '', 'https://10.0.0.1:6443'],
    [{ server: 'https://[fd00::1]:6443' }, '', 'https://[fd00::1]:6443'],
  ])('server of %j with master %j', (cluster, master, server) => {
    expect(access(cluster, {}, master).server).toBe(server);
  });

  test('--master alone is enough', () => {
    expect(kubeconfigAccess({ file: '--master', document: {} }, 'https://m:1')).toMatchObject({
      server: 'https://m:1',
      user: anonymous,
    });
  });

  test('impersonation, basic authentication, TLS options', () => {
    const result = access(
      {
        server: 'https://a',
        'insecure-skip-tls-verify': true,
        'tls-server-name': 'kubernetes',
        'proxy-url': 'http://p:3128',
      },
      {
        username: 'admin',
        password: 'secret',
        as: 'system:kube-proxy',
        'as-uid': '7',
        'as-groups': ['g1', 'g2'],
        'as-user-extra': { 'example.org/scope': ['x', 'y'] },
      },
    );
    expect(result).toMatchObject({
      insecureSkipTlsVerify: true,
      tlsServerName: 'kubernetes',
      proxyUrl: 'http://p:3128',
    });
    expect(result.user.basic).toEqual({ username: 'admin', password: 'secret' });
    expect(result.user.impersonation).toEqual([
      ['Impersonate-User', 'system:kube-proxy'],
      ['Impersonate-Uid', '7'],
      ['Impersonate-Group', 'g1'],
      ['Impersonate-Group', 'g2'],
      ['Impersonate-Extra-example.org%2Fscope', 'x'],
      ['Impersonate-Extra-example.org%2Fscope', 'y'],
    ]);
  });

  test('an exec plugin is read with arguments, environment and hint', () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './bin/login',
      args: ['--cluster', 'x'],
      env: [{ name: 'REGION', value: 'r1' }],
      interactiveMode: 'Never',
      installHint: 'install it',
      provideClusterInfo: true,
    };
    const cluster = {
      server: 'https://a',
      'certificate-authority-data': base64,
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'me' } }],
    };
    expect(access(cluster, { exec }).user.exec).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/etc/kube/bin/login',
      args: ['--cluster', 'x'],
      env: [['REGION', 'r1']],
      installHint: 'install it',
      cluster: { server: 'https://a', 'certificate-authority-data': base64, config: { audience: 'me' } },
    });
    expect(access(cluster, { exec: { ...exec, command: 'login' } }).user.exec?.command).toBe('login');
    expect(
      problem(() =>
        access(cluster, { exec: { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' } }),
      ),
    ).toMatch(/user\.exec\.apiVersion: "client\.authentication\.k8s\.io\/v1alpha1" is not supported/);
    expect(problem(() => access(cluster, { exec: { ...exec, interactiveMode: 'Always' } }))).toMatch(
      /there is no terminal/,
    );
    expect(problem(() => access(cluster, { exec: { ...exec, interactiveMode: '' } }))).toMatch(
      /interactiveMode: is required/,
    );
  });

  test.each([
    [
      () => access({ server: 'https://a', 'insecure-skip-tls-verify': true, 'certificate-authority': 'x' }),
      /cannot be combined/,
    ],
    [() => access({ server: 'https://a', 'proxy-url': 'socks5://p' }), /only http and https proxies/],
    [
      () => access({ server: 'https://a' }, { 'auth-provider': { name: 'oidc' } }),
      /auth-provider: not supported/,
    ],
    [() => access({ server: 'https://a' }, { 'client-certificate': 'x' }), /go together/],
    [() => access({ server: 'https://a' }, { username: 'a', token: 'b' }), /exclude each other/],
    [
      () => access({ server: 'https://a', 'certificate-authority-data': 'not base64!' }),
      /certificate-authority-data: is not base64/,
    ],
    [() => access({ server: 17 }), /cluster\.server: expected string/],
    [() => access({ server: 'https://a:x' }), /is no URL/],
    [() => access({}), /no server is given/],
    [() => access({ server: 'https://a' }, { as: '', 'as-groups': ['g'] }), /user\.as: is needed/],
    [
      () => kubeconfigAccess({ file: 'f', document: { 'current-context': 'x' } }, ''),
      /context "x" does not exist/,
    ],
  ])('%#: what is wrong is named', (run, message) => {
    expect(problem(run)).toMatch(message);
    expect(problem(run)).toMatch(/^kubeconfig (\/etc\/kube\/config|f): /);
  });

  test('secrets are not in messages', () => {
    expect(problem(() => access({ server: 'https://a' }, { username: 'a', token: 'hunter2' }))).not.toContain(
      'hunter2',
    );
  });
});

describe('readKubeconfig', () => {
  test('JSON, flow style and broken text', async () => {
    expect(await readKubeconfig('f', '{"kind": "Config"}')).toEqual({ kind: 'Config' });
    expect(await readKubeconfig('f', 'clusters: [{name: a}]\n')).toEqual({ clusters: [{ name: 'a' }] });
    await expect(readKubeconfig('f', 'a: [')).rejects.toThrow('kubeconfig f: is no valid YAML');
    await expect(readKubeconfig('f', '- a')).rejects.toThrow('kubeconfig f: is empty or no mapping');
  });
});

describe('inClusterAccess', () => {
  test('IPv4 and IPv6 hosts', () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    expect(inClusterAccess(env, '/sa')).toMatchObject({
      server: 'https://10.96.0.1:443',
      ca: { file: '/sa/ca.crt' },
      user: { tokenFile: '/sa/token' },
    });
    expect(inClusterAccess({ ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' }).server).toBe(
      'https://[fd00::1]:443',
    );
  });

  test('outside a pod the error says what is missing', () => {
    expect(problem(() => inClusterAccess({}))).toBe(
      'no kubeconfig and no --master given, and not running in a pod: KUBERNETES_SERVICE_HOST is missing',
    );
  });
});
