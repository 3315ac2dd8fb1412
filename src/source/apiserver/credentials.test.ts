import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { CredentialProvider } from './credentials.ts';

let directory: string;
let clock: FakeClock;
let logged: string[];
const logger: Logger = {
  ...silentLogger,
  info: (message) => void logged.push(message),
  warn: (message) => void logged.push(message),
  error: (message) => void logged.push(message),
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'credentials-'));
  clock = new FakeClock();
  logged = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const path = (name: string) => join(directory, name);
const write = (name: string, text: string) => writeFileSync(path(name), text);
const pem = (label: string) => `-----BEGIN CERTIFICATE-----\n${label}\n-----END CERTIFICATE-----\n`;

function kubeconfig(user: object, cluster: object = {}): void {
  const document = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    clusters: [{ name: 'x', cluster: { server: 'https://api:6443', ...cluster } }],
    users: [{ name: 'x', user }],
  };
  write('config', JSON.stringify(document));
}

const provider = (env: NodeJS.ProcessEnv = { PATH: process.env['PATH'] }) =>
  new CredentialProvider({ kubeconfig: path('config'), master: '' }, { clock, logger, env });
const authorization = async (from: CredentialProvider) =>
  (await from.current()).headers.find(([name]) => name === 'Authorization')?.[1];

describe('files', () => {
  test('a token that the kubelet rotates by swapping a symbolic link', async () => {
    for (const [version, token] of [
      ['..1', 'first'],
      ['..2', 'second'],
    ] as const) {
      mkdirSync(path(version));
      write(join(version, 'token'), `${token}\n`);
    }
    symlinkSync('..1', path('..data'));
    symlinkSync('..data/token', path('token'));
    kubeconfig({ tokenFile: 'token' });
    const credentials = provider();
    expect(await authorization(credentials)).toBe('Bearer first');
    symlinkSync('..2', path('..new'));
    renameSync(path('..new'), path('..data'));
    expect(await authorization(credentials)).toBe('Bearer second');
  });

  test('a token file that is missing for a while: the last token stays, one line is logged', async () => {
    write('token', 'first');
    kubeconfig({ tokenFile: 'token' });
    const credentials = provider();
    expect(await authorization(credentials)).toBe('Bearer first');
    rmSync(path('token'));
    expect(await authorization(credentials)).toBe('Bearer first');
    write('token', '');
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(logged).toEqual(['Cannot read the token file; the last one stays in use']);
    write('token', 'second');
    expect(await authorization(credentials)).toBe('Bearer second');
  });

  test('a token file wins over a token, which stands in until there is one', async () => {
    kubeconfig({ tokenFile: 'token', token: 'static' });
    const credentials = provider();
    expect(await authorization(credentials)).toBe('Bearer static');
    write('token', 'file');
    expect(await authorization(credentials)).toBe('Bearer file');
  });

  test('TLS settings keep their identity until a file changes', async () => {
    write('ca.pem', pem('ca'));
    write('cert.pem', pem('cert 1'));
    write('key.pem', pem('key 1'));
    kubeconfig(
      { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' },
      { 'certificate-authority': 'ca.pem' },
    );
    const credentials = provider();
    const { tls } = await credentials.current();
    expect(tls).toMatchObject({ ca: pem('ca'), cert: pem('cert 1'), key: pem('key 1') });
    expect((await credentials.current()).tls).toBe(tls);
    write('cert.pem', pem('cert 2'));
    const renewed = (await credentials.current()).tls;
    expect(renewed).not.toBe(tls);
    expect(renewed.cert).toBe(pem('cert 2'));
  });

  test('a changed kubeconfig is followed, a broken one is not', async () => {
    kubeconfig({ token: 'first' });
    const credentials = provider();
    expect(await authorization(credentials)).toBe('Bearer first');
    write('config', 'current-context: nowhere');
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(await authorization(credentials)).toBe('Bearer first');
    kubeconfig({ token: 'second' }, { server: 'https://elsewhere:6443' });
    expect((await credentials.current()).server).toBe('https://elsewhere:6443');
    expect(await authorization(credentials)).toBe('Bearer second');
    expect(logged).toEqual([
      'The changed kubeconfig is not usable; the last one stays in use',
      'The kubeconfig has changed',
    ]);
  });

  test('what is missing at the start is named', async () => {
    await expect(provider().current()).rejects.toMatchObject({
      detail: { code: 'CREDENTIALS_FILE_UNREADABLE', file: path('config'), use: 'kubeconfig' },
    });
    kubeconfig({ tokenFile: 'token' });
    await expect(provider().current()).rejects.toMatchObject({
      detail: { file: path('token'), use: 'token file' },
    });
  });

  test('basic authentication and impersonation', async () => {
    kubeconfig({ username: 'me', password: 'pass', as: 'other' });
    expect((await provider().current()).headers).toEqual([
      ['Authorization', `Basic ${Buffer.from('me:pass').toString('base64')}`],
      ['Impersonate-User', 'other'],
    ]);
  });
});

describe('credential plugins', () => {
  /** A plugin that notes each run and prints the text of the file `answer`. */
  function plugin(answer: object, settings: object = {}): void {
    write(
      'login',
      `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO $1 $REGION" >> ${path('runs')}\ncat ${path('answer')}\nexit $(cat ${path('status')})\n`,
    );
    chmodSync(path('login'), 0o755);
    write('status', '0');
    answerWith(answer);
    kubeconfig({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './login',
        args: ['arg'],
        env: [{ name: 'REGION', value: 'r1' }],
        interactiveMode: 'IfAvailable',
        ...settings,
      },
    });
  }
  function answerWith(status: object, apiVersion = 'client.authentication.k8s.io/v1'): void {
    write('answer', JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
  }
  const runs = async () => {
    return readFileSync(path('runs'), 'utf8').trim().split('\n');
  };

  test('runs once, keeps the token until it expires', async () => {
    plugin(
      { token: 'one', expirationTimestamp: new Date(clock.now() + 60_000).toISOString() },
      { provideClusterInfo: true },
    );
    const credentials = provider();
    const [first, second] = await Promise.all([authorization(credentials), authorization(credentials)]);
    expect([first, second]).toEqual(['Bearer one', 'Bearer one']);
    answerWith({ token: 'two' });
    await clock.advance(59_000);
    expect(await authorization(credentials)).toBe('Bearer one');
    await clock.advance(1_000);
    expect(await authorization(credentials)).toBe('Bearer two');
    const lines = await runs();
    expect(lines.length).toBe(2);
    const info =
      '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"https://api:6443"}}}';
    expect(lines[0]).toBe(`${info} arg r1`);
  });

  test('runs again when the server refuses the token', async () => {
    plugin({ token: 'one' });
    const credentials = provider();
    const used = await credentials.current();
    answerWith({ token: 'two' });
    credentials.refused(used);
    expect(await authorization(credentials)).toBe('Bearer two');
    // A late 401 to the old token does not cost the new one.
    credentials.refused(used);
    expect(await authorization(credentials)).toBe('Bearer two');
    expect((await runs()).length).toBe(2);
  });

  test('a plugin that leaves a program behind which holds its output open is done when it ends', async () => {
    plugin({ token: 'one' });
    const login = `#!/bin/sh\nsleep 600 &\necho $! > ${path('pid')}\ncat ${path('answer')}\n`;
    write('login', login);
    try {
      expect(await authorization(provider())).toBe('Bearer one');
    } finally {
      process.kill(Number(readFileSync(path('pid'), 'utf8')));
    }
  });

  test('a certificate from the plugin is used for TLS, without a header', async () => {
    plugin({ clientCertificateData: pem('c'), clientKeyData: pem('k') });
    const { tls, headers } = await provider().current();
    expect(tls).toMatchObject({ cert: pem('c'), key: pem('k') });
    expect(headers).toEqual([]);
  });

  test('plugins of v1beta1 are understood, too', async () => {
    plugin({}, { apiVersion: 'client.authentication.k8s.io/v1beta1', interactiveMode: undefined });
    answerWith({ token: 'beta' }, 'client.authentication.k8s.io/v1beta1');
    expect(await authorization(provider())).toBe('Bearer beta');
  });

  test.each([
    ['an exit status', () => write('status', '3'), /exit status 3/],
    ['no JSON', () => write('answer', 'Please log in'), /invalid JSON/],
    [
      'another version',
      () => answerWith({ token: 'x' }, 'client.authentication.k8s.io/v2'),
      /expected client\.authentication\.k8s\.io\/v1 ExecCredential/,
    ],
    ['no credential', () => answerWith({}), /status: expected a token/],
    [
      'a certificate without its key',
      () => answerWith({ clientCertificateData: pem('c') }),
      /status: expected a token/,
    ],
    ['a missing program', () => rmSync(path('login')), /not found\. Install it/],
  ])('%s is reported', async (_, spoil, message) => {
    plugin({ token: 'x' }, { installHint: 'Install it' });
    spoil();
    await expect(provider().current()).rejects.toThrow(message);
    await expect(provider().current()).rejects.toMatchObject({
      detail: { code: 'CREDENTIALS_EXEC_FAILED', command: path('login') },
    });
  });
});
