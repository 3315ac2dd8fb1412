import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { DEFAULT_HTTP_LIMITS, GuardedHttpServer, type HttpLimits } from './guarded-http-server.ts';
import { type HttpHandler, plainText } from './http-answer.ts';
import { RawClient, rawExchange, rawRequest } from './testing/raw-http.ts';

const open: { http: GuardedHttpServer; listener: Server }[] = [];
afterEach(() => {
  for (const { http, listener } of open.splice(0)) {
    listener.close();
    http.closeConnections();
  }
});

async function setup(handler: HttpHandler = () => plainText(200, 'fine'), limits: Partial<HttpLimits> = {}) {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const logger = { ...silentLogger, error: (_message: string, error: unknown) => void errors.push(error) };
  const http = new GuardedHttpServer(handler, {
    clock,
    logger,
    limits: { ...DEFAULT_HTTP_LIMITS, ...limits },
  });
  const listener = createServer({ allowHalfOpen: true }, (socket) => http.accept(socket)).listen(
    0,
    '127.0.0.1',
  );
  await once(listener, 'listening');
  open.push({ http, listener });
  return { clock, errors, http, port: (listener.address() as AddressInfo).port };
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const connections = (http: GuardedHttpServer, count: number) =>
  vi.waitFor(() => expect(http.size).toBe(count), { timeout: 10_000 });
const pause = (milliseconds = 20) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('a client that says nothing, or trickles its headers, is dropped at the deadline', async () => {
  const { clock, http, port } = await setup();
  const silent = new RawClient(port);
  const slow = new RawClient(port).send('GET / HTTP/1.1\r\nHost: x\r\n');
  await connections(http, 2);
  for (let second = 0; second < 9; second++) {
    slow.send(`X-${second}: y\r\n`);
    await pause(2);
    await clock.advance(1000);
  }
  expect(http.size).toBe(2);
  await clock.advance(1000);
  await Promise.all([silent.closed(), slow.closed()]);
  expect(slow.received).toBe('');
  expect(clock.pending).toBe(0);
});

test('an idle connection is kept for its time, then dropped', async () => {
  const { clock, http, port } = await setup();
  const client = new RawClient(port).send(GET);
  await client.until((text) => text.endsWith('fine'));
  await clock.advance(80_000);
  client.received = '';
  await client.send(GET).until((text) => text.endsWith('fine'));
  await clock.advance(89_000);
  expect(http.size).toBe(1);
  await clock.advance(1000);
  await client.closed();
});

/** A client that sends requests without ever reading an answer. */
async function deafClient(port: number, requests: number) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  socket.write(GET.repeat(requests));
  return socket;
}

test('a reader that does not read is dropped at the deadline; its further requests wait', async () => {
  let requests = 0;
  const body = 'x'.repeat(16 << 20);
  const { clock, http, port } = await setup(() => {
    requests++;
    return plainText(200, body);
  });
  const reader = await deafClient(port, 10);
  await connections(http, 1);
  await pause(50);
  expect(requests).toBe(1);
  await clock.advance(29_000);
  expect(http.size).toBe(1);
  reader.write(GET);
  await pause();
  await clock.advance(1000);
  await connections(http, 0);
  expect(requests).toBe(1);
  reader.destroy();
});

test('a client that piles up requests is dropped', async () => {
  let requests = 0;
  const { http, port } = await setup(() => {
    requests++;
    return plainText(200, 'fine');
  });
  const client = await deafClient(port, 1000);
  await once(client.resume(), 'close');
  expect([requests, http.size]).toEqual([0, 0]);
  const patient = new RawClient(port).send(GET.repeat(10));
  await patient.until((text) => text.split('fine').length === 11);
  patient.socket.destroy();
});

test('above the limit the connection idle longest makes room, so a new client always gets in', async () => {
  const { http, port } = await setup(undefined, { connections: 3 });
  const clients: RawClient[] = [];
  for (let i = 0; i < 3; i++) {
    clients.push(new RawClient(port));
    await connections(http, i + 1);
  }
  await clients[0]!.send(GET).until((text) => text.endsWith('fine'));
  expect(await rawExchange(port, rawRequest('GET', '/'))).toContain('fine');
  await clients[1]!.closed();
  await clients[0]!.send(GET).until((text) => text.split('fine').length === 3);
  for (let i = 0; i < 50; i++) new RawClient(port);
  expect(await rawExchange(port, rawRequest('GET', '/'))).toContain('fine');
  await vi.waitFor(() => expect(http.size).toBeLessThanOrEqual(3), { timeout: 10_000 });
});

test('a connection that is being answered is not the first to go', async () => {
  const gate = Promise.withResolvers<void>();
  const { http, port } = await setup(
    async () => {
      await gate.promise;
      return plainText(200, 'fine');
    },
    { connections: 2 },
  );
  const busy = new RawClient(port).send(GET);
  await connections(http, 1);
  await pause();
  const idle = new RawClient(port);
  await connections(http, 2);
  const third = new RawClient(port);
  await idle.closed();
  gate.resolve();
  expect(await busy.until((text) => text.endsWith('fine'))).toContain('200 OK');
  third.socket.destroy();
});

test('endless headers: 431 and the end', async () => {
  const { port } = await setup();
  const client = new RawClient(port).send('GET / HTTP/1.1\r\nHost: x\r\n');
  for (let i = 0; i < 40; i++) client.send(`X-${i}: ${'y'.repeat(1000)}\r\n`);
  await client.closed();
  expect(client.received).toBe(
    'HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n431 Request Header Fields Too Large',
  );
});

test.each(['\x16\x03\x01\x02\x00\x01', 'GET / HTTP/1.1\r\nBad Header\r\n\r\n', 'NONSENSE\r\n\r\n'])(
  'what is no HTTP gets 400: %j',
  async (bytes) => {
    const { port } = await setup();
    expect(await rawExchange(port, bytes)).toBe(
      'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request',
    );
  },
);

test('an endless body is answered, not kept, and cut off', async () => {
  const { port, http } = await setup(undefined, { bodyBytes: 100_000 });
  const client = new RawClient(port).send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  await client.until((text) => text.endsWith('fine'));
  const chunk = `4000\r\n${'z'.repeat(0x4000)}\r\n`;
  for (let i = 0; i < 20 && !client.socket.destroyed; i++) {
    client.send(chunk);
    await pause(1);
  }
  await client.closed();
  await connections(http, 0);
});

test('a small body does not end the connection; no body is invited', async () => {
  const { port } = await setup();
  const client = new RawClient(port).send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello');
  await client.until((text) => text.endsWith('fine'));
  client.received = '';
  await client.send(GET).until((text) => text.endsWith('fine'));
  const expecting = rawRequest('PUT', '/', ['Expect: 100-continue', 'Content-Length: 5']);
  expect(await rawExchange(port, expecting)).toMatch(/^HTTP\/1\.1 200 OK/);
  client.socket.destroy();
});

test('a client that has closed its side still gets the answer', async () => {
  const { port } = await setup(async () => {
    await pause();
    return plainText(200, 'fine');
  });
  const client = new RawClient(port).send(GET).finish();
  await client.closed();
  expect(client.received).toMatch(/^HTTP\/1\.1 200 OK.*fine$/s);
});

test('a handler that throws is a 500 and a log line; the server goes on', async () => {
  const { port, errors } = await setup((request) => {
    if (request.path === '/bad') throw new Error('oops');
    return plainText(200, 'fine');
  });
  expect(await rawExchange(port, rawRequest('GET', '/bad'))).toMatch(
    /^HTTP\/1\.1 500 .*Internal Server Error\n$/s,
  );
  expect(errors).toMatchObject([{ message: 'oops' }]);
  expect(await rawExchange(port, rawRequest('GET', '/'))).toContain('fine');
});

test('a handler learns that its client has gone', async () => {
  const aborted = Promise.withResolvers<void>();
  const { port } = await setup(async ({ signal }) => {
    signal.addEventListener('abort', () => aborted.resolve());
    await aborted.promise;
    return plainText(200, 'too late');
  });
  const client = new RawClient(port).send(GET);
  await pause();
  client.socket.destroy();
  await aborted.promise;
});

test('a body that is read for its content is bounded', async () => {
  const { port } = await setup(async (request) => plainText(200, await request.readText(10)));
  const body = (text: string) => rawRequest('PUT', '/', [`Content-Length: ${text.length}`]) + text;
  expect(await rawExchange(port, body('short'))).toMatch(/200 OK.*short$/s);
  expect(await rawExchange(port, body('much too long'))).toMatch(/^HTTP\/1\.1 413 /);
});

test('a request may name the whole URL, as some health checks do', async () => {
  const { port } = await setup(({ path, query }) => plainText(200, `path ${path} query ${query}`));
  const ask = async (target: string) =>
    (await rawExchange(port, rawRequest('GET', target))).split('\r\n\r\n')[1];
  expect(await ask('http://node1:10256/healthz?verbose=1')).toBe('path /healthz query verbose=1');
  expect(await ask('http://node1:10256')).toBe('path / query ');
  expect(await ask('HTTP://node1?a=b')).toBe('path / query a=b');
  expect(await ask('/a?b=http://c/d')).toBe('path /a query b=http%3A%2F%2Fc%2Fd');
});
