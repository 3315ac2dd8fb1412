import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createHealthzServer } from './healthz-server.ts';
import type { PersistentListener } from './persistent-listener.ts';
import { ProxyHealth } from './proxy-health.ts';
import { loopbackAddress, RawClient, rawExchange, rawRequest } from './testing/raw-http.ts';

const START = Date.UTC(2026, 4, 1, 10);
const NODE = { deletionTimestamp: undefined, taints: [] };
const stops: AbortController[] = [];

beforeEach(() => void vi.stubEnv('TZ', 'UTC'));
afterEach(() => {
  vi.unstubAllEnvs();
  for (const stop of stops.splice(0)) stop.abort();
});

interface Setup {
  readonly clock: FakeClock;
  readonly health: ProxyHealth;
  readonly server: PersistentListener;
  readonly port: number;
  readonly counts: string[];
  readonly fatal: unknown[];
  readonly stop: AbortController;
}

async function setup(options: { host?: string; port?: number; hardFail?: boolean } = {}): Promise<Setup> {
  const clock = new FakeClock(START);
  const health = new ProxyHealth({ syncPeriod: 5000 }, { clock });
  const counts: string[] = [];
  const fatal: unknown[] = [];
  const stop = new AbortController();
  stops.push(stop);
  const server = createHealthzServer(
    { host: options.host ?? '127.0.0.1', port: options.port ?? 0, hardFail: options.hardFail ?? false },
    {
      clock,
      health,
      logger: silentLogger,
      healthzCounter: { inc: ({ code }) => counts.push(`healthz ${code}`) },
      livezCounter: { inc: ({ code }) => counts.push(`livez ${code}`) },
      apiContactAges: () => [['services', 1.5]],
      onFatal: (error) => fatal.push(error),
    },
  );
  await server.start(stop.signal);
  return { clock, health, server, port: server.address?.port ?? 0, counts, fatal, stop };
}

async function get(port: number, path: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { Connection: 'close' } });
  return { status: answer.status, body: await answer.text() };
}

const HEAD_LINES = (status: string, length: number) =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;

describe('answers, byte for byte', () => {
  test('healthy: 200 with the current time', async () => {
    const { clock, health, port } = await setup();
    health.nodeChanged(NODE);
    health.updated('IPv4');
    await clock.advance(3_600_500);
    const body =
      '{"lastUpdated":"2026-05-01T11:00:00.5Z","currentTime":"2026-05-01T11:00:00.5Z","nodeEligible":true,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-05-01T10:00:00Z","healthy":true}}}';
    expect(await rawExchange(port, rawRequest('GET', '/healthz'))).toBe(
      HEAD_LINES('200 OK', body.length) + body,
    );
    const live =
      '{"lastUpdated":"2026-05-01T11:00:00.5Z","currentTime":"2026-05-01T11:00:00.5Z","healthy":true,"status":{"IPv4":{"lastUpdated":"2026-05-01T10:00:00Z","healthy":true}}}';
    expect(await rawExchange(port, rawRequest('GET', '/livez'))).toBe(
      HEAD_LINES('200 OK', live.length) + live,
    );
  });

  test('nothing started, node unknown', async () => {
    const { port } = await setup();
    const body =
      '{"lastUpdated":"0001-01-01T00:00:00Z","currentTime":"2026-05-01T10:00:00Z","nodeEligible":false,"healthy":true}';
    expect(await rawExchange(port, rawRequest('GET', '/healthz'))).toBe(
      HEAD_LINES('503 Service Unavailable', body.length) + body,
    );
    expect((await get(port, '/livez')).status).toBe(200);
  });

  test('stale: the latest update of any family is reported', async () => {
    const { clock, health, port } = await setup();
    health.nodeChanged(NODE);
    health.updated('IPv6');
    await clock.advance(1000);
    health.updated('IPv4');
    health.queuedUpdate('IPv6');
    await clock.advance(25_000);
    const { status, body } = await get(port, '/healthz');
    expect(status).toBe(503);
    expect(body).toBe(
      '{"lastUpdated":"2026-05-01T10:00:01Z","currentTime":"2026-05-01T10:00:26Z","nodeEligible":true,"healthy":false,"status":{"IPv4":{"lastUpdated":"2026-05-01T10:00:01Z","healthy":true},"IPv6":{"lastUpdated":"2026-05-01T10:00:00Z","healthy":false}}}',
    );
    expect((await get(port, '/livez')).status).toBe(503);
  });

  test('node to be deleted: healthy stays true, livez stays 200', async () => {
    const { health, port, counts } = await setup();
    health.updated('IPv4');
    health.nodeChanged({ deletionTimestamp: undefined, taints: [{ key: 'ToBeDeletedByClusterAutoscaler' }] });
    const { status, body } = await get(port, '/healthz');
    expect(status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ nodeEligible: false, healthy: true });
    expect((await get(port, '/livez')).status).toBe(200);
    health.nodeChanged(NODE);
    expect((await get(port, '/healthz')).status).toBe(200);
    expect(counts).toEqual(['healthz 503', 'livez 200', 'healthz 200']);
  });

  test('other paths are not found', async () => {
    const { port, counts } = await setup();
    const answer =
      'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 19\r\nConnection: close\r\n\r\n404 page not found\n';
    for (const path of ['/', '/healthz/', '/livez/x', '/metrics', '//healthz']) {
      expect(await rawExchange(port, rawRequest('GET', path))).toBe(answer);
    }
    expect(counts).toEqual([]);
  });

  test('query and method do not matter; HEAD gets no body; verbose adds the age of the API contact', async () => {
    const { port } = await setup();
    const plain = await rawExchange(port, rawRequest('GET', '/livez?x=1'));
    expect(await rawExchange(port, rawRequest('DELETE', '/livez'))).toBe(plain);
    expect(await rawExchange(port, rawRequest('PUT', '/livez', ['Content-Length: 2']).concat('{}'))).toBe(
      plain,
    );
    expect(await rawExchange(port, rawRequest('HEAD', '/livez'))).toBe(plain.slice(0, plain.indexOf('{')));
    expect((await get(port, '/livez?verbose')).body).toMatch(
      /"healthy":true,"apiContactSeconds":\{"services":1\.5\}\}$/,
    );
  });

  test('a connection that persists is not named so, as in Go; HTTP/1.0 without Host works', async () => {
    const { port } = await setup();
    const client = new RawClient(port).send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const first = await client.until((text) => text.endsWith('}'));
    expect(first).not.toMatch(/connection|keep-alive/i);
    client.send(rawRequest('GET', '/livez'));
    await client.closed();
    expect(client.received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    expect(await rawExchange(port, 'GET /livez HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK.*\}$/s);
  });

  test('load balancers probe /healthz by HTTP/1.0 and 1.1 without further headers (C37)', async () => {
    const { health, port } = await setup();
    health.nodeChanged(NODE);
    const probes = [
      'GET /healthz HTTP/1.0\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n',
    ];
    for (const probe of probes) {
      expect(await rawExchange(port, probe)).toMatch(/^HTTP\/1\.1 200 OK.*"healthy":true\}$/s);
    }
  });
});

describe('binding', () => {
  const HOST = loopbackAddress();

  /** Takes a port, and gives it back when told. */
  async function occupy() {
    const squatter = createServer().listen(0, HOST);
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    return { port, release: () => new Promise((resolve) => squatter.close(resolve)) };
  }

  test('a port in use is tried again every 5 s until it is free', async () => {
    const { port, release } = await occupy();
    const { clock, server, fatal } = await setup({ host: HOST, port });
    expect(server.address).toBeUndefined();
    await clock.advance(5000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.address).toBeUndefined();
    await release();
    await clock.advance(4999);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.address).toBeUndefined();
    await clock.advance(1);
    await vi.waitFor(() => expect(server.address?.port).toBe(port), { timeout: 10_000 });
    expect(await rawExchange(port, rawRequest('GET', '/livez'), HOST)).toMatch(/^HTTP\/1\.1 200/);
    expect(fatal).toEqual([]);
  });

  test('hard fail: told once, no further attempt', async () => {
    const { port, release } = await occupy();
    const { clock, server, fatal } = await setup({ host: HOST, port, hardFail: true });
    expect(fatal).toMatchObject([{ code: 'LISTEN_FAILED', detail: { port, errno: 'EADDRINUSE' } }]);
    await release();
    await clock.advance(60_000);
    expect(server.address).toBeUndefined();
    expect(fatal).toHaveLength(1);
  });

  test('the unspecified IPv4 address answers over IPv6 too', async () => {
    const { port, server } = await setup({ host: '0.0.0.0' });
    expect(server.address?.address).toBe('::');
    expect((await get(port, '/livez')).status).toBe(200);
    expect(await rawExchange(port, rawRequest('GET', '/livez'), '::1')).toMatch(/^HTTP\/1\.1 200/);
  });

  test('stopping closes the port and idle connections, also while an attempt is pending', async () => {
    const { port, stop } = await setup();
    const client = new RawClient(port).send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until((text) => text.endsWith('}'));
    stop.abort();
    await client.closed();
    await expect(get(port, '/livez')).rejects.toThrow();

    const { port: busy, release } = await occupy();
    const other = await setup({ host: HOST, port: busy });
    other.stop.abort();
    expect(other.clock.pending).toBe(0);
    await release();
  });
});
