import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createMetricsServer, type MetricsServerContent, type ScrapePage } from './metrics-server.ts';
import { rawExchange, rawRequest } from './testing/raw-http.ts';

let stop: AbortController;
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => stop.abort());

const scrape =
  (text: string): ScrapePage =>
  async ({ accept, acceptEncoding }) => ({
    contentType: `text/plain; asked=${accept}`,
    contentEncoding: acceptEncoding === 'gzip' ? 'gzip' : undefined,
    body: acceptEncoding === 'gzip' ? (await import('node:zlib')).gzipSync(text) : Buffer.from(text),
  });

async function setup(changes: Partial<MetricsServerContent> = {}) {
  const events: string[] = [];
  const content: MetricsServerContent = {
    metrics: scrape('all of them\n'),
    slis: { page: scrape('slis\n'), reset: () => events.push('reset'), notePing: () => events.push('ping') },
    mode: 'nftables',
    configz: () => ({ kind: 'KubeProxyConfiguration', hostnameOverride: '<a&b>' }),
    startTime: 1_777_629_600.7,
    flagz: () => new Map(Object.entries({ v: '2', config: '/etc/config.conf' })),
    statusz: () => ({
      startTime: 1_777_629_600.7,
      uptimeSeconds: 3 * 3600 + 4 * 60 + 5.9,
      goVersion: 'node v26.10.0',
      binaryVersion: '1.36.2',
      emulationVersion: '1.36',
    }),
    random: () => 0.5,
    ...changes,
  };
  const server = createMetricsServer({ host: '127.0.0.1', port: 0, hardFail: false }, content, {
    clock: new FakeClock(),
    logger: silentLogger,
    onFatal: () => {},
  });
  await server.start(stop.signal);
  const { port } = server.address!;
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET', body?: string) => {
    const request = { method, headers: { Connection: 'close', ...headers }, redirect: 'manual' as const };
    const answer = await fetch(
      `http://127.0.0.1:${port}${path}`,
      body === undefined ? request : { ...request, body },
    );
    return { status: answer.status, headers: answer.headers, body: await answer.text() };
  };
  return { port, events, get };
}

const plain = (body: string, status = '200 OK') =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

describe('answers, byte for byte', () => {
  test.each([
    ['/healthz', 'ok'],
    ['/healthz/ping', 'ok'],
    ['/healthz?verbose', '[+]ping ok\nhealthz check passed\n'],
    ['/healthz?verbose&exclude=ping', '[+]ping excluded: ok\nhealthz check passed\n'],
    [
      '/healthz?verbose&exclude=x',
      '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    ],
    ['/proxyMode', 'nftables'],
  ])('%s', async (path, body) => {
    expect(await rawExchange((await setup()).port, rawRequest('GET', path))).toBe(plain(body));
  });

  test.each(['/', '/metrics/', '/metricsx', '/healthz/', '/debug/pprof/', '/debug/flags/v', '/livez'])(
    '%s is not found',
    async (path) => {
      const { port } = await setup();
      expect(await rawExchange(port, rawRequest('GET', path))).toBe(
        plain('404 page not found\n', '404 Not Found'),
      );
    },
  );

  test('/configz shows the effective configuration', async () => {
    const body =
      '{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","hostnameOverride":"\\u003ca\\u0026b\\u003e"}}';
    expect(await rawExchange((await setup()).port, rawRequest('GET', '/configz'))).toBe(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  });

  test('/metrics passes on what the client accepts', async () => {
    const { port } = await setup();
    expect(await rawExchange(port, rawRequest('GET', '/metrics', ['Accept: a/b']))).toBe(
      'HTTP/1.1 200 OK\r\nContent-Type: text/plain; asked=a/b\r\nProcess-Start-Time-Unix: 1777629600\r\nContent-Length: 12\r\nConnection: close\r\n\r\nall of them\n',
    );
    const zipped = await rawExchange(port, rawRequest('GET', '/metrics', ['Accept-Encoding: gzip']));
    const [head, ...rest] = zipped.split('\r\n\r\n');
    expect(head).toContain('Content-Encoding: gzip');
    expect(gunzipSync(Buffer.from(rest.join('\r\n\r\n'), 'latin1')).toString()).toBe('all of them\n');
    expect(await rawExchange(port, rawRequest('HEAD', '/metrics'))).toMatch(
      /Content-Length: 12\r\nConnection: close\r\n\r\n$/,
    );
  });
});

test('/metrics/slis: DELETE resets; /healthz counts', async () => {
  const { get, events } = await setup();
  expect(await get('/metrics/slis')).toMatchObject({ status: 200, body: 'slis\n' });
  expect(await get('/metrics/slis', {}, 'DELETE')).toMatchObject({ status: 200, body: 'metrics reset\n' });
  await get('/healthz');
  await get('/healthz?exclude=ping');
  await get('/healthz/ping');
  expect(events).toEqual(['reset', 'ping']);
});

describe('flagz and statusz', () => {
  test('are plain text for people', async () => {
    const { get } = await setup();
    const flagz = await get('/flagz');
    expect(flagz.headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
    expect(flagz.body).toMatch(/^\nkube-proxy flagz\nWarning: .+\n\nconfig=\/etc\/config\.conf\nv=2\n$/);
    const statusz = await get('/statusz', { Accept: 'text/html,*/*;q=0.1' });
    expect(statusz.body).toMatch(/^\nkube-proxy statusz\nWarning: .+\n\n/);
    expect(statusz.body.split('\n').slice(4)).toEqual([
      'Started=Fri May  1 10:00:00 UTC 2026',
      'Up=3 hr 04 min 05 sec',
      'Go version=node v26.10.0',
      'Binary version=1.36.2',
      'Emulation version=1.36',
      'Paths=/configz /flagz /healthz /metrics /proxyMode',
      '',
    ]);
  });

  test('the separator changes: for flagz with each process, for statusz with each request', async () => {
    let calls = 0;
    const { get } = await setup({ random: () => [0, 0.25, 0.99][calls++]! });
    expect((await get('/flagz')).body).toContain('\nv:2\n');
    expect((await get('/statusz')).body).toContain('\nBinary version: 1.36.2\n');
    expect((await get('/statusz')).body).toContain('\nBinary version 1.36.2\n');
    expect((await get('/flagz')).body).toContain('\nv:2\n');
  });

  const flagzObject = (version: string) => ({
    kind: 'Flagz',
    apiVersion: `config.k8s.io/${version}`,
    metadata: { name: 'kube-proxy' },
    flags: { config: '/etc/config.conf', v: '2' },
  });

  test('are JSON for those who ask for it', async () => {
    const { get } = await setup();
    const json = await get('/flagz', { Accept: 'application/json;v=v1beta1;g=config.k8s.io;as=Flagz' });
    expect([json.status, json.headers.get('Content-Type'), json.headers.get('Warning')]).toEqual([
      200,
      'application/json',
      null,
    ]);
    expect(JSON.parse(json.body)).toEqual(flagzObject('v1beta1'));
    const yaml = await get('/flagz', { Accept: 'application/yaml;v=v1alpha1;g=config.k8s.io;as=Flagz' });
    expect(yaml.headers.get('Content-Type')).toBe('application/yaml');
    expect(yaml.headers.get('Warning')).toMatch(/^299 /);
    expect(parse(yaml.body)).toEqual(flagzObject('v1alpha1'));
    const statusz = await get('/statusz', {
      Accept: 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz',
    });
    expect(JSON.parse(statusz.body)).toEqual({
      kind: 'Statusz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'kube-proxy' },
      startTime: '2026-05-01T10:00:00Z',
      uptimeSeconds: 11_045,
      goVersion: 'node v26.10.0',
      binaryVersion: '1.36.2',
      emulationVersion: '1.36',
      paths: ['/configz', '/flagz', '/healthz', '/metrics', '/proxyMode'],
    });
  });

  test.each([
    ['application/json', 406],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz', 406],
    ['application/json;v=v2;g=config.k8s.io;as=Flagz', 406],
    ['image/png', 406],
    ['application/json, */*', 200],
    ['text/plain', 200],
  ])('Accept %j is %i', async (accept, status) => {
    expect((await (await setup()).get('/flagz', { Accept: accept })).status).toBe(status);
  });

  test('are not found while their gates are off', async () => {
    const { port } = await setup({ flagz: undefined, statusz: undefined } as never);
    for (const path of ['/flagz', '/statusz']) {
      expect(await rawExchange(port, rawRequest('GET', path))).toMatch(/^HTTP\/1\.1 404 /);
    }
  });
});

describe('with profiling', () => {
  const verbosities: string[] = [];
  const profiling = {
    setVerbosity: (text: string) => {
      if (!/^\d+$/.test(text)) return `not a number: ${text}`;
      verbosities.push(text);
      return undefined;
    },
  };

  test('index pages name the profiles', async () => {
    const { get } = await setup({ profiling });
    expect(await get('/debug/pprof')).toMatchObject({ status: 302 });
    expect((await get('/debug/pprof')).headers.get('Location')).toBe('/debug/pprof/');
    expect((await get('/debug/pprof/')).body).toContain('profile');
    expect((await get('/debug/flags')).body).toContain('v');
    expect((await get('/debug/flags/')).status).toBe(200);
  });

  test('the log level can be set, and bad values are refused', async () => {
    const { get } = await setup({ profiling });
    expect(await get('/debug/flags/v', {}, 'PUT', '4')).toMatchObject({
      status: 200,
      body: 'successfully set klog.logging.verbosity to 4\n',
    });
    expect(verbosities).toEqual(['4']);
    expect(await get('/debug/flags/v', {}, 'PUT', 'x')).toMatchObject({ status: 400 });
    expect(await get('/debug/flags/v', {}, 'GET')).toMatchObject({
      status: 406,
      body: 'unsupported http method',
    });
    expect(await get('/debug/flags/v', {}, 'PUT', '1'.repeat(2000))).toMatchObject({ status: 413 });
  });

  test('CPU and allocation profiles, one at a time', async () => {
    const { get } = await setup({ profiling });
    const first = get('/debug/pprof/profile?seconds=0.3');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = await get('/debug/pprof/allocs?seconds=0.1');
    expect([second.status, second.body]).toEqual([
      500,
      'Could not profile: another profile is being taken\n',
    ]);
    const profile = await first;
    expect(profile.headers.get('Content-Disposition')).toBe('attachment; filename="profile.cpuprofile"');
    const { nodes, samples, startTime, endTime } = JSON.parse(profile.body);
    expect(nodes.length).toBeGreaterThan(0);
    expect(samples.length).toBeGreaterThan(0);
    expect(endTime - startTime).toBeGreaterThan(250_000);
    const allocs = await get('/debug/pprof/allocs?seconds=0.05');
    expect(JSON.parse(allocs.body)).toHaveProperty('head');
    for (const seconds of ['0', '301', 'x', '-1']) {
      expect((await get(`/debug/pprof/profile?seconds=${seconds}`)).status).toBe(400);
    }
  });

  test('a heap snapshot can be taken', async () => {
    const { get } = await setup({ profiling });
    const snapshot = await get('/debug/pprof/heap');
    expect(snapshot.status).toBe(200);
    expect(JSON.parse(snapshot.body)).toHaveProperty('snapshot.meta.node_fields');
  });
});
