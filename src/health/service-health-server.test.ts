import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { ListenError } from './listen.ts';
import { ServiceHealthServer } from './service-health-server.ts';
import { loopbackAddress, RawClient, rawExchange, rawRequest } from './testing/raw-http.ts';

const HOST = loopbackAddress();
const OTHER_HOST = loopbackAddress();

const servers: ServiceHealthServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

interface Failure {
  readonly service: string;
  readonly port: number;
  readonly error: ListenError;
}

function setup(options: { family?: 'IPv4' | 'IPv6'; addresses?: readonly string[] | undefined } = {}) {
  const clock = new FakeClock();
  const failures: Failure[] = [];
  const logged: string[] = [];
  const proxy = { healthy: true };
  const addresses = 'addresses' in options ? options.addresses : [HOST, '::1'];
  const server = new ServiceHealthServer(
    { family: options.family ?? 'IPv4', addresses },
    {
      clock,
      logger: { ...silentLogger, error: (_message, error) => void logged.push((error as Error).message) },
      isProxyHealthy: () => proxy.healthy,
      onListenFailure: (service, port, error) => failures.push({ service, port, error }),
    },
  );
  servers.push(server);
  const sync = (ports: Record<string, number>, counts: Record<string, number> = {}) =>
    server.sync(new Map(Object.entries(ports)), new Map(Object.entries(counts)));
  return { clock, failures, logged, proxy, server, sync };
}

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const holders = await Promise.all(Array.from({ length: count }, () => occupy(0)));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  await Promise.all(holders.map(release));
  return ports;
}

async function occupy(port: number, host = HOST): Promise<Server> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  return server;
}

const release = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()));

async function probe(port: number, host = HOST) {
  const authority = host.includes(':') ? `[${host}]` : host;
  try {
    const answer = await fetch(`http://${authority}:${port}/any/path`, { headers: { Connection: 'close' } });
    const body = (await answer.json()) as { service: { name: string }; localEndpoints: number };
    const weight = answer.headers.get('X-Load-Balancing-Endpoint-Weight');
    return { status: answer.status, name: body.service.name, count: body.localEndpoints, weight };
  } catch {
    return 'refused';
  }
}

test('the answer, byte for byte, whatever is asked', async () => {
  const { sync, proxy } = setup();
  const [port] = await freePorts(1);
  await sync({ 'a/b': port! }, { 'a/b': 18 });
  const text = (healthy: boolean, count: number, status: string) => {
    const body = `{\n\t"service": {\n\t\t"namespace": "a",\n\t\t"name": "b"\n\t},\n\t"localEndpoints": ${count},\n\t"serviceProxyHealthy": ${healthy}\n}`;
    return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nX-Load-Balancing-Endpoint-Weight: ${count}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  };
  expect(await rawExchange(port!, rawRequest('GET', '/'), HOST)).toBe(text(true, 18, '200 OK'));
  expect(await rawExchange(port!, rawRequest('PATCH', '/healthz?x'), HOST)).toBe(text(true, 18, '200 OK'));
  proxy.healthy = false;
  expect(await rawExchange(port!, rawRequest('GET', '/'), HOST)).toBe(
    text(false, 18, '503 Service Unavailable'),
  );
  proxy.healthy = true;
  await sync({ 'a/b': port! });
  expect(await rawExchange(port!, rawRequest('GET', '/'), HOST)).toBe(
    text(true, 0, '503 Service Unavailable'),
  );
});

test('ports open, keep their place, change and close', async () => {
  const { sync, server } = setup();
  const [a, b, c, c2, d] = await freePorts(5);
  await sync({ 'ns/a': a!, 'ns/b': b!, 'ns/c': c! }, { 'ns/a': 1, 'ns/b': 2, 'ns/c': 3, 'ns/unknown': 9 });
  expect(await probe(b!)).toEqual({ status: 200, name: 'b', count: 2, weight: '2' });
  await sync({ 'ns/b': b!, 'ns/c': c2!, 'ns/d': d! }, { 'ns/b': 2 });
  expect(await probe(a!)).toBe('refused');
  expect(await probe(c!)).toBe('refused');
  expect(await probe(b!)).toEqual({ status: 200, name: 'b', count: 2, weight: '2' });
  expect(await probe(c2!)).toEqual({ status: 503, name: 'c', count: 0, weight: '0' });
  expect(await probe(d!)).toEqual({ status: 503, name: 'd', count: 0, weight: '0' });
  expect([...server.openPorts().values()].toSorted()).toEqual(['ns/b', 'ns/c', 'ns/d']);
  await sync({});
  for (const port of [b!, c2!, d!]) expect(await probe(port)).toBe('refused');
});

test('a port that passes to another Service never closes, and its connections go on', async () => {
  const { sync } = setup();
  const [port] = await freePorts(1);
  await sync({ 'ns/old': port! }, { 'ns/old': 1 });
  const client = new RawClient(port!, HOST);
  const ask = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  await client.send(ask).until((text) => text.endsWith('\n}'));
  const done = sync({ 'ns/new': port! }, { 'ns/new': 4 });
  // Not awaited: the answer must be right before the work on the sockets has ended.
  expect(await probe(port!)).toEqual({ status: 200, name: 'new', count: 4, weight: '4' });
  await done;
  client.received = '';
  expect(await client.send(ask).until((text) => text.endsWith('\n}'))).toContain('"name": "new"');
  client.socket.destroy();
});

test('connections to a port that closes are ended', async () => {
  const { sync } = setup();
  const [port, other] = await freePorts(2);
  await sync({ 'ns/a': port!, 'ns/b': other! });
  const idle = new RawClient(port!, HOST).send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const kept = new RawClient(other!, HOST).send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await Promise.all([idle, kept].map((client) => client.until((text) => text.endsWith('\n}'))));
  await sync({ 'ns/b': other! });
  await idle.closed();
  kept.received = '';
  await kept.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n').until((text) => text.endsWith('\n}'));
  kept.socket.destroy();
});

describe('a port that cannot be opened', () => {
  test('is told at each sync, retried by itself, and harms no other', async () => {
    const { clock, sync, failures, logged, server } = setup();
    const [good, bad] = await freePorts(2);
    const squatter = await occupy(bad!);
    await sync({ 'ns/bad': bad!, 'ns/good': good! }, { 'ns/bad': 5, 'ns/good': 1 });
    expect(await probe(good!)).toMatchObject({ status: 200 });
    expect(failures).toMatchObject([{ service: 'ns/bad', port: bad!, error: { code: 'LISTEN_FAILED' } }]);
    expect(failures[0]!.error.message).toBe(`cannot listen on ${HOST}:${bad}: address already in use`);
    await sync({ 'ns/bad': bad!, 'ns/good': good! }, { 'ns/bad': 5 });
    expect(failures).toHaveLength(2);
    await clock.advance(15_000);
    await release(squatter);
    await clock.advance(15_000);
    await vi.waitFor(() => expect(server.openPorts().get(bad!)).toBe('ns/bad'), { timeout: 10_000 });
    expect(failures).toHaveLength(2);
    expect(logged).toEqual([failures[0]!.error.message]);
    expect(await probe(bad!)).toEqual({ status: 200, name: 'bad', count: 5, weight: '5' });
    expect(clock.pending).toBe(1); // the sweep of open connections; no retry
  });

  test('is logged again when it is another one, or one again', async () => {
    const { sync, logged, server } = setup({ addresses: [HOST] });
    const [first, second] = await freePorts(2);
    const squatters = await Promise.all([occupy(first!), occupy(second!)]);
    await sync({ 'ns/a': first! });
    await sync({ 'ns/a': second! });
    await sync({ 'ns/a': second! });
    expect(logged).toHaveLength(2);
    await release(squatters[1]!);
    await sync({ 'ns/a': second! });
    expect(server.openPorts().get(second!)).toBe('ns/a');
    await sync({ 'ns/a': first! });
    expect(logged).toHaveLength(3);
    await release(squatters[0]!);
  });

  test('closes its other addresses', async () => {
    const { sync, failures } = setup({ addresses: [HOST, OTHER_HOST] });
    const [port] = await freePorts(1);
    const squatter = await occupy(port!, OTHER_HOST);
    await sync({ 'ns/a': port! });
    expect(failures).toHaveLength(1);
    expect(await probe(port!)).toBe('refused');
    await release(squatter);
    await sync({ 'ns/a': port! });
    expect(await probe(port!)).toMatchObject({ name: 'a' });
    expect(await probe(port!, OTHER_HOST)).toMatchObject({ name: 'a' });
  });

  test('a wish withdrawn is not retried', async () => {
    const { clock, sync } = setup();
    const [port] = await freePorts(1);
    const squatter = await occupy(port!);
    await sync({ 'ns/a': port! });
    expect(clock.pending).toBe(1);
    await sync({});
    expect(clock.pending).toBe(0);
    await release(squatter);
  });
});

describe('two Services with one port', () => {
  test('the first by name has it, the other is told who', async () => {
    const { sync, failures } = setup();
    const [port] = await freePorts(1);
    await sync({ 'ns/b': port!, 'ns/a': port! }, { 'ns/a': 1, 'ns/b': 2 });
    expect(await probe(port!)).toMatchObject({ name: 'a', count: 1 });
    expect(failures).toMatchObject([
      { service: 'ns/b', error: { detail: { code: 'HEALTH_CHECK_PORT_TAKEN', owner: 'ns/a' } } },
    ]);
  });

  test('who has it keeps it; the other gets it when it is given up', async () => {
    const { sync, failures } = setup();
    const [port, elsewhere] = await freePorts(2);
    await sync({ 'ns/b': port! });
    await sync({ 'ns/a': port!, 'ns/b': port! });
    expect(await probe(port!)).toMatchObject({ name: 'b' });
    expect(failures.map(({ service }) => service)).toEqual(['ns/a']);
    await sync({ 'ns/a': port!, 'ns/b': elsewhere! });
    expect(await probe(port!)).toMatchObject({ name: 'a' });
    expect(await probe(elsewhere!)).toMatchObject({ name: 'b' });
    expect(failures).toHaveLength(1);
  });
});

describe('listen addresses', () => {
  test('only those given, of the own family', async () => {
    const [port] = await freePorts(1);
    await setup({ addresses: [HOST, '::1'] }).sync({ 'ns/a': port! });
    expect(await probe(port!)).toMatchObject({ name: 'a' });
    expect(await probe(port!, OTHER_HOST)).toBe('refused');
    expect(await probe(port!, '::1')).toBe('refused');
  });

  test('none given: nothing opens, nobody is told', async () => {
    const { sync, failures, server, clock } = setup({ addresses: ['::1'] });
    const [port] = await freePorts(1);
    await sync({ 'ns/a': port! });
    expect([failures, server.openPorts().size, clock.pending]).toEqual([[], 0, 0]);
  });

  test('all: the families share a port number without meeting', async () => {
    const v4 = setup({ family: 'IPv4', addresses: undefined });
    const v6 = setup({ family: 'IPv6', addresses: undefined });
    const [port] = await freePorts(1);
    await v4.sync({ 'ns/a': port! }, { 'ns/a': 4 });
    await v6.sync({ 'ns/a': port! }, { 'ns/a': 6 });
    expect([v4.failures, v6.failures]).toEqual([[], []]);
    expect(await probe(port!, OTHER_HOST)).toMatchObject({ count: 4 });
    expect(await probe(port!, '::1')).toMatchObject({ count: 6 });
  });
});

test('syncs that overtake each other end with the last one', async () => {
  const { sync, server } = setup();
  const ports = await freePorts(3);
  const all = Promise.all([
    sync({ 'ns/a': ports[0]!, 'ns/b': ports[1]! }),
    sync({}),
    sync({ 'ns/c': ports[1]! }, { 'ns/c': 1 }),
    sync({ 'ns/a': ports[2]! }, { 'ns/a': 7 }),
  ]);
  await all;
  expect([...server.openPorts()]).toEqual([[ports[2], 'ns/a']]);
  expect(await probe(ports[0]!)).toBe('refused');
  expect(await probe(ports[1]!)).toBe('refused');
  expect(await probe(ports[2]!)).toMatchObject({ count: 7 });
});

test('closing while ports are being opened leaves none open', async () => {
  const { sync, server, clock } = setup();
  const [port] = await freePorts(1);
  const work = sync({ 'ns/a': port! });
  server.close();
  await work;
  expect(await probe(port!)).toBe('refused');
  await sync({ 'ns/a': port! });
  expect(await probe(port!)).toBe('refused');
  expect(clock.pending).toBe(0);
});
