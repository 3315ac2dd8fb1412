import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../base/logger.ts';
import { ApiClient, type ApiClientObserver } from './api-client.ts';
import { ApiError } from './api-error.ts';
import { CredentialProvider } from './credentials.ts';
import { refusal } from './testing/answers.ts';
import { FastClock } from './testing/fast-clock.ts';
import { type Answer, ScriptedServer } from './testing/scripted-server.ts';
import { waitUntil } from './testing/wait-until.ts';

const pem = (name: string) => readFileSync(join(import.meta.dirname, 'testing/testdata', name), 'utf8');
const tls = (name: string) => ({ key: pem(`${name}.key`), cert: pem(`${name}.crt`) });

let directory: string;
let server: ScriptedServer;
let client: ApiClient;
let signal: AbortSignal;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'api-client-'));
  signal = new AbortController().signal;
});
afterEach(async () => {
  client?.close();
  await server?.close();
  rmSync(directory, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

async function serve(options?: object): Promise<void> {
  server = new ScriptedServer(options);
  server.answer(ok());
  await server.listen();
}

function connect(
  cluster: object = {},
  user: object = {},
  {
    qps = -1,
    burst = 1,
    env = {},
    observer,
    speed = 20,
  }: {
    qps?: number;
    burst?: number;
    env?: NodeJS.ProcessEnv;
    observer?: ApiClientObserver;
    speed?: number;
  } = {},
): FastClock {
  const document = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    clusters: [{ name: 'x', cluster: { server: server.url, ...cluster } }],
    users: [{ name: 'x', user }],
  };
  write('config', JSON.stringify(document));
  const clock = new FastClock(speed);
  const credentials = new CredentialProvider(
    { kubeconfig: join(directory, 'config'), master: '' },
    { clock, logger: silentLogger, env },
  );
  client = new ApiClient(
    { version: '1.2.3', qps, burst },
    { credentials, clock, env, ...(observer && { observer }) },
  );
  return clock;
}

const ok =
  (body = 'fine'): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);

async function get(path = '/version'): Promise<string> {
  const response = await client.request(
    { method: 'GET', path, headers: { Accept: 'application/json' } },
    signal,
  );
  return (await response.readAll(1000)).toString();
}

const failure = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('no ApiError', { cause: error });
  return error;
};

describe('TLS', () => {
  test('a server that the CA vouches for, by address and by name', async () => {
    await serve(tls('server-1'));
    connect({ 'certificate-authority-data': Buffer.from(pem('ca-1.crt')).toString('base64') });
    expect(await get()).toBe('fine');
    expect(server.requests[0]?.headers).toMatchObject({
      'user-agent': expect.stringMatching(/^fairlead\/1\.2\.3 \(linux\/\w+\)$/),
      host: `127.0.0.1:${server.port}`,
    });
  });

  test('another CA, or a certificate for another host, is refused', async () => {
    await serve(tls('server-named'));
    write('ca', pem('ca-2.crt'));
    connect({ 'certificate-authority': 'ca' });
    expect((await failure(get())).detail).toEqual({
      code: 'API_CONNECTION',
      path: '/version',
      server: server.url,
    });
    write('ca', pem('ca-1.crt'));
    const error = await failure(get());
    expect((error.cause as NodeJS.ErrnoException).code).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(server.requests).toEqual([]);
  });

  test('tls-server-name and insecure-skip-tls-verify', async () => {
    await serve(tls('server-named'));
    write('ca', pem('ca-1.crt'));
    connect({ 'certificate-authority': 'ca', 'tls-server-name': 'kubernetes' });
    expect(await get()).toBe('fine');
    client.close();
    connect({ 'certificate-authority': 'ca', 'tls-server-name': 'other' });
    await failure(get());
    client.close();
    connect({ 'insecure-skip-tls-verify': true });
    expect(await get()).toBe('fine');
  });

  test('tls-server-name may be an address', async () => {
    await serve(tls('server-1'));
    write('ca', pem('ca-1.crt'));
    connect({ 'certificate-authority': 'ca', 'tls-server-name': '127.0.0.1' });
    expect(await get()).toBe('fine');
    client.close();
    connect({ 'certificate-authority': 'ca', 'tls-server-name': '127.0.0.2' });
    const error = await failure(get());
    expect((error.cause as NodeJS.ErrnoException).code).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('a certificate that does not go with its key, as in the middle of a rotation, costs one request', async () => {
    await serve(tls('server-1'));
    write('ca', pem('ca-1.crt'));
    write('cert', pem('client-1.crt'));
    write('key', pem('client-2.key'));
    connect({ 'certificate-authority': 'ca' }, { 'client-certificate': 'cert', 'client-key': 'key' });
    expect((await failure(get())).code).toBe('API_CONNECTION');
    write('key', pem('client-1.key'));
    expect(await get()).toBe('fine');
  });

  test('a kubeconfig that goes over to https', async () => {
    await serve();
    connect({ 'insecure-skip-tls-verify': true });
    expect(await get()).toBe('fine');
    await server.close();
    await serve(tls('server-named'));
    const moved = readFileSync(join(directory, 'config'), 'utf8').replace(/http:[^"]*/, server.url);
    write('config', moved);
    expect(await get()).toBe('fine');
  });

  test('without a CA only the roots of the system count', async () => {
    await serve(tls('server-1'));
    connect();
    await failure(get());
  });

  test('a client certificate and a CA that are replaced are used from the next request on', async () => {
    const subjects: unknown[] = [];
    await serve({ ...tls('server-1'), ca: pem('ca-1.crt'), requestCert: true, rejectUnauthorized: true });
    server.answer((response) => {
      subjects.push((response.socket as TLSSocket).getPeerCertificate().subject);
      response.end('fine');
    });
    write('ca', pem('ca-1.crt'));
    write('cert', pem('client-1.crt'));
    write('key', pem('client-1.key'));
    connect({ 'certificate-authority': 'ca' }, { 'client-certificate': 'cert', 'client-key': 'key' });
    await get();
    await get();
    expect(server.connections).toBe(1);
    write('cert', pem('client-2.crt'));
    write('key', pem('client-2.key'));
    await get();
    await waitUntil(() => server.connections === 1, 'the old connection is closed');
    expect(subjects).toEqual([{ CN: 'client-1' }, { CN: 'client-1' }, { CN: 'client-2' }]);

    const { port } = server;
    await server.close();
    server = new ScriptedServer(tls('server-2'));
    server.answer(ok());
    await server.listen(port);
    await failure(get());
    write('ca', pem('ca-2.crt'));
    expect(await get()).toBe('fine');
  });

  test('a watch that runs while the certificate is replaced goes on', async () => {
    await serve(tls('server-1'));
    write('ca', pem('ca-1.crt'));
    write('cert', pem('client-1.crt'));
    write('key', pem('client-1.key'));
    connect({ 'certificate-authority': 'ca' }, { 'client-certificate': 'cert', 'client-key': 'key' });
    let finish = () => {};
    server.answer((response) => {
      response.write('first ');
      finish = () => response.end('last');
    }, ok());
    const long = get('/watch');
    await waitUntil(() => server.requests.length === 1);
    write('cert', pem('client-2.crt'));
    write('key', pem('client-2.key'));
    expect(await get()).toBe('fine');
    finish();
    expect(await long).toBe('first last');
    await waitUntil(() => server.connections === 1, 'the old connection is closed');
  });
});

describe('answers', () => {
  beforeEach(() => serve());

  test('a Status in protobuf or JSON', async () => {
    server.answer(refusal(404, 'NotFound', { message: 'nodes "a" not found' }), (response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ kind: 'Status', status: 'Failure', message: 'no', reason: 'Forbidden', code: 403 }),
      );
    });
    connect();
    expect((await failure(get('/api/v1/nodes/a?x=y'))).detail).toMatchObject({
      code: 'API_STATUS',
      path: '/api/v1/nodes/a',
      httpStatus: 404,
      status: { reason: 'NotFound', message: 'nodes "a" not found' },
      retryAfterMs: undefined,
    });
    expect((await failure(get())).message).toBe('/version: 403 Forbidden: no');
  });

  test('an error page of a proxy, an empty or broken body', async () => {
    const answer =
      (body: string, contentType: string): Answer =>
      (response) =>
        response.writeHead(502, { 'content-type': contentType }).end(body);
    server.answer(
      answer('<h1>Bad gateway</h1>', 'text/html'),
      answer('', 'application/json'),
      answer('k8s\0\x12\xff', 'application/vnd.kubernetes.protobuf'),
      answer('x'.repeat(200_000), 'text/plain'),
    );
    connect();
    for (const message of ['<h1>Bad gateway</h1>', '', expect.any(String), expect.any(String)]) {
      const { detail } = await failure(get());
      expect(detail).toMatchObject({ httpStatus: 502, status: { code: 502, message } });
    }
  });

  test('Retry-After as seconds, as a date, and in the Status', async () => {
    const clock = connect();
    server.answer(
      refusal(429, 'TooManyRequests', { headers: { 'retry-after': '3' } }),
      refusal(503, 'x', { headers: { 'retry-after': new Date(clock.now() + 100_000).toUTCString() } }),
      refusal(503, 'x', { details: { retryAfterSeconds: 9 } }),
    );
    const retryAfterMs = async () => {
      const { detail } = await failure(get());
      return detail.code === 'API_STATUS' ? detail.retryAfterMs : undefined;
    };
    expect(await retryAfterMs()).toBe(3000);
    expect(await retryAfterMs()).toBeGreaterThan(80_000);
    expect(await retryAfterMs()).toBe(9000);
  });

  test('a connection that is cut in the body', async () => {
    server.answer((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.socket?.resetAndDestroy());
    });
    connect();
    const response = await client.request({ method: 'GET', path: '/x', headers: {} }, signal);
    expect((await failure(response.read(() => {}))).code).toBe('API_CONNECTION');
  });

  test('a token with a line break is no header', async () => {
    connect({}, { token: 'a\r\nX-Evil: b' });
    expect((await failure(get())).code).toBe('API_CONNECTION');
    expect(server.requests).toEqual([]);
  });

  test('impersonation headers repeat', async () => {
    connect({}, { as: 'me', 'as-groups': ['a', 'b'] });
    await get();
    const { rawHeaders } = server.requests[0]!;
    const groups = rawHeaders.filter((_, i) => rawHeaders[i - 1] === 'Impersonate-Group');
    expect(groups).toEqual(['a', 'b']);
  });
});

describe('401', () => {
  beforeEach(() => serve());

  test('a token that was replaced meanwhile is tried at once', async () => {
    write('token', 'old');
    connect({}, { tokenFile: 'token' });
    server.answer((response, request) => {
      write('token', 'new');
      if (request.headers.authorization === 'Bearer new') response.end('fine');
      else refusal(401, 'Unauthorized')(response, request);
    });
    expect(await get()).toBe('fine');
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test('the same token is not tried twice', async () => {
    connect({}, { token: 'bad' });
    server.answer(refusal(401, 'Unauthorized'));
    expect((await failure(get())).detail).toMatchObject({ httpStatus: 401 });
    expect(server.requests.length).toBe(1);
  });
});

describe('connections', () => {
  beforeEach(() => serve());

  test('one connection serves requests in turn', async () => {
    connect();
    await get();
    await get();
    expect(server.connections).toBe(1);
    server.cut();
    expect(await get()).toBe('fine');
  });

  test('a kept connection that the server closes just then is replaced; a new one is not', async () => {
    connect();
    const used = new Set<unknown>();
    server.answer((response, request) => {
      const { socket } = response;
      if (used.has(socket) || request.path === '/never') socket?.resetAndDestroy();
      else response.end('fine');
      used.add(socket);
    });
    expect(await get()).toBe('fine');
    expect(await get()).toBe('fine');
    expect(used.size).toBe(2);
    server.cut();
    await waitUntil(() => server.connections === 0);
    server.requests.length = 0;
    expect((await failure(get('/never'))).code).toBe('API_CONNECTION');
    expect(server.requests.length).toBe(1);
  });

  test('a body that is not read to its end does not block the next request', async () => {
    connect();
    server.answer((response) => void response.write('endless'), ok());
    const response = await client.request({ method: 'GET', path: '/x', headers: {} }, signal);
    response.destroy();
    expect(await get()).toBe('fine');
  });

  test('no answer at all', async () => {
    server.answer(() => {});
    connect({}, {}, { speed: 1000 });
    expect((await failure(get())).detail).toEqual({
      code: 'API_SILENT',
      path: '/version',
      milliseconds: 60_000,
    });
    await waitUntil(() => server.connections === 0, 'the connection is given up');
  });

  test('aborting ends a request that waits for its answer', async () => {
    server.answer(() => {});
    connect();
    const controller = new AbortController();
    signal = controller.signal;
    const pending = failure(get());
    await waitUntil(() => server.requests.length === 1);
    controller.abort();
    expect((await pending).code).toBe('API_CONNECTION');
  });

  test('the rate limit holds requests back', async () => {
    const clock = connect({}, {}, { qps: 5, burst: 2, speed: 1000 });
    const now = clock.monotonic();
    clock.monotonic = () => now;
    await Promise.all(Array.from({ length: 4 }, () => get()));
    expect(clock.delays.filter((delay) => delay < 10_000)).toEqual([200, 400]);
  });

  test('the observer sees answers, sizes and repetitions', async () => {
    const seen: unknown[] = [];
    const observer: ApiClientObserver = {
      answered: ({ method, code, host, requestBytes }) => seen.push([method, code, host, requestBytes]),
      received: ({ bytes }) => seen.push(bytes),
      retried: ({ code }) => seen.push(['again', code]),
    };
    connect({}, {}, { observer });
    await get();
    const host = `127.0.0.1:${server.port}`;
    expect(seen).toEqual([['GET', '200', host, 0], 4]);
    await server.close();
    await failure(get());
    expect(seen[2]).toEqual(['GET', '<error>', host, 0]);
  });
});

describe('proxies', () => {
  test('proxy-url, and HTTP_PROXY where there is none', async () => {
    await serve();
    const seen: string[] = [];
    const proxy = http.createServer((request, response) => {
      seen.push(request.url ?? '');
      response.end('by proxy');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      connect({ 'proxy-url': address });
      expect(await get()).toBe('by proxy');
      client.close();
      connect({ server: 'http://api.test:8080' }, {}, { env: { HTTP_PROXY: address } });
      expect(await get()).toBe('by proxy');
      client.close();
      connect({}, {}, { env: { HTTP_PROXY: address } });
      expect(await get()).toBe('fine');
      expect(seen).toEqual([`${server.url}/version`, 'http://api.test:8080/version']);
    } finally {
      client.close();
      proxy.close();
    }
  });

  test('a tunnel to a TLS server', async () => {
    await serve(tls('server-1'));
    write('ca', pem('ca-1.crt'));
    const seen: string[] = [];
    const proxy = http.createServer();
    proxy.on('connect', (request, socket: net.Socket) => {
      seen.push(request.url ?? '');
      const upstream = net.connect(server.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      for (const end of [socket, upstream]) end.on('error', () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      connect({
        'certificate-authority': 'ca',
        'proxy-url': `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      });
      expect(await get()).toBe('fine');
      expect(seen).toEqual([`127.0.0.1:${server.port}`]);
    } finally {
      client.close();
      proxy.close();
    }
  });

  test('a proxy that takes the connection and opens no tunnel', async () => {
    await serve(tls('server-1'));
    let tunnels = 0;
    const silent = net.createServer((socket) => {
      tunnels++;
      socket.on('error', () => {}).resume();
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      const proxyUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      connect({ 'proxy-url': proxyUrl }, {}, { speed: 200 });
      expect((await failure(get())).code).toBe('API_SILENT');
      client.close();
      connect({ 'proxy-url': proxyUrl }, {}, { speed: 1 });
      const controller = new AbortController();
      signal = controller.signal;
      const pending = failure(get());
      await waitUntil(() => tunnels === 2, 'the second connection');
      controller.abort();
      expect((await pending).code).toBe('API_CONNECTION');
      expect((await failure(get())).code).toBe('API_CONNECTION');
    } finally {
      client.close();
      silent.close();
    }
  });
});
