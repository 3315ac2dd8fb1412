import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiServer, type ApiServerOptions } from './api-server.ts';
import { makeAuthority, makeCertificate } from './certificate.ts';
import type { KubeObject } from './kube-object.ts';
import { type FetchOptions, fetchBytes } from './testing/fetch-bytes.ts';
import { type WatchFrame, watchFrames } from './testing/watch-frames.ts';

const servers: ApiServer[] = [];

async function started(
  options: ApiServerOptions = {},
  objects: readonly KubeObject[] = [],
): Promise<ApiServer> {
  const server = new ApiServer({ futureVersionMilliseconds: 20, ...options });
  server.store.load(objects);
  await server.listen();
  servers.push(server);
  return server;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

function service(name: string, labels?: Record<string, string>): KubeObject {
  const metadata = { name, namespace: 'default', ...(labels === undefined ? {} : { labels }) };
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1' } };
}

const services = '/api/v1/services';
const letters = ['a', 'b', 'c', 'd', 'e'].map((name) => service(name));

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly KubeObject[];
  readonly code?: number;
}

async function getJson(
  server: ApiServer,
  path: string,
  options?: FetchOptions,
): Promise<List & { status: number }> {
  const answer = await fetchBytes(server.url + path, options);
  return { ...(JSON.parse(answer.body.toString()) as List), status: answer.status };
}

const errorCodeOf = (error: NodeJS.ErrnoException) => error.code;
const names = (list: List) => list.items.map((item) => item.metadata.name);

/** An open watch whose frames can be looked at as they come. */
function openWatch(server: ApiServer, query: string) {
  let body = Buffer.alloc(0);
  const onData = (bytes: Buffer) => {
    body = Buffer.concat([body, bytes]);
  };
  const answer = fetchBytes(`${server.url}${services}?watch=true&${query}`, { onData });
  const text = () => body.toString();
  const events = () => {
    const frames: WatchFrame[] = watchFrames(body, 'json');
    return frames.map(({ type, object }) => `${type} ${(object as KubeObject).metadata.name ?? ''}`.trim());
  };
  return { answer, text, events };
}

describe('lists', () => {
  test('pages show one version, whatever changes meanwhile, and count what is left', async () => {
    const server = await started({}, letters);
    const first = await getJson(server, `${services}?limit=2`);
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.metadata.remainingItemCount).toBe(3);
    server.store.delete('services', 'default', 'c');
    server.store.apply(service('bb'));
    const second = await getJson(server, `${services}?limit=2&continue=${first.metadata.continue}`);
    expect(names(second)).toEqual(['c', 'd']);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const third = await getJson(server, `${services}?limit=2&continue=${second.metadata.continue}`);
    expect(names(third)).toEqual(['e']);
    expect(third.metadata.continue).toBeUndefined();
  });

  test('an expired token gives 410 with one that goes on at the present version', async () => {
    const server = await started({}, letters);
    const first = await getJson(server, `${services}?limit=2`);
    server.expireContinueTokens();
    server.store.delete('services', 'default', 'c');
    const refused = await getJson(server, `${services}?limit=2&continue=${first.metadata.continue}`);
    expect(refused.status).toBe(410);
    const rest = await getJson(server, `${services}?limit=9&continue=${refused.metadata.continue}`);
    expect(names(rest)).toEqual(['d', 'e']);
    expect(rest.metadata.resourceVersion).toBe(String(server.store.resourceVersion));
  });

  test('version 0 is served from the watch cache: unpaged, as old as the last change of the resource', async () => {
    const server = await started({}, letters);
    const version = server.store.resourceVersion;
    server.store.apply({ kind: 'Node', metadata: { name: 'node1' } });
    const cached = await getJson(server, `${services}?resourceVersion=0&limit=1`);
    expect(names(cached)).toHaveLength(5);
    expect(cached.metadata.resourceVersion).toBe(String(version));
    const consistent = await getJson(server, services);
    expect(consistent.metadata.resourceVersion).toBe(String(version + 1));
  });

  test('an exact version shows the past; a forgotten one gives 410; one of the future 504', async () => {
    const server = await started({}, letters);
    const version = server.store.resourceVersion;
    server.store.delete('services', 'default', 'a');
    const exact = (v: number) =>
      getJson(server, `${services}?resourceVersion=${v}&resourceVersionMatch=Exact`);
    expect(names(await exact(version))).toHaveLength(5);
    expect((await exact(1)).status).toBe(410);
    expect((await exact(version + 100)).status).toBe(504);
    expect(names(await getJson(server, `${services}?resourceVersion=${version}`))).toHaveLength(4);
  });

  test('namespaces, single objects, selectors, bad selectors', async () => {
    const other = { ...service('z'), metadata: { name: 'z', namespace: 'other', labels: { app: 'z' } } };
    const server = await started({}, [...letters, other]);
    expect(names(await getJson(server, '/api/v1/namespaces/other/services'))).toEqual(['z']);
    expect((await getJson(server, '/api/v1/namespaces/other/services/z')).status).toBe(200);
    expect((await getJson(server, '/api/v1/namespaces/other/services/a')).status).toBe(404);
    expect(names(await getJson(server, `${services}?labelSelector=app`))).toEqual(['z']);
    expect((await getJson(server, `${services}?fieldSelector=spec.color%3Dred`)).status).toBe(400);
  });
});

describe('watches', () => {
  test('without a version: everything that exists, then changes', async () => {
    const server = await started({}, letters.slice(0, 2));
    const watch = openWatch(server, 'timeoutSeconds=60');
    await expect.poll(watch.events).toEqual(['ADDED a', 'ADDED b']);
    server.store.apply(service('a', { x: 'y' }));
    server.store.delete('services', 'default', 'b');
    await expect.poll(watch.events).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
  });

  test('from a version: what came after it, then changes', async () => {
    const server = await started({}, letters);
    const version = server.store.resourceVersion;
    server.store.delete('services', 'default', 'a');
    const watch = openWatch(server, `resourceVersion=${version}`);
    await expect.poll(watch.events).toEqual(['DELETED a']);
    server.store.apply(service('f'));
    await expect.poll(watch.events).toEqual(['DELETED a', 'ADDED f']);
  });

  test('WatchList off: refused with 422, or ignored by older servers', async () => {
    const query =
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1';
    const refusing = await started({ watchList: 'refused' }, letters);
    const answer = await fetchBytes(`${refusing.url}${services}?watch=1&${query}`);
    expect(answer.status).toBe(422);
    const ignoring = await started({ watchList: 'ignored' }, letters.slice(0, 1));
    const watch = openWatch(ignoring, query);
    await watch.answer;
    expect(watch.events()).toEqual(['ADDED a']);
  });

  test('periodic bookmarks, and one before the end', async () => {
    const server = await started(
      { bookmarkIntervalMilliseconds: 200, lastBookmarkMilliseconds: 50 },
      letters,
    );
    const version = server.store.resourceVersion;
    const watch = openWatch(server, `resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=1`);
    await sleep(300);
    server.store.apply({ kind: 'Node', metadata: { name: 'node1' } });
    await watch.answer;
    const bookmarks = watchFrames(Buffer.from(watch.text()), 'json');
    expect(bookmarks.length).toBeGreaterThanOrEqual(4);
    const versions = bookmarks.map((frame) => Number((frame.object as KubeObject).metadata.resourceVersion));
    expect(versions[0]).toBe(version);
    expect(versions.at(-1)).toBe(version + 1);
  });

  test('hold keeps changes back, release sends them in order', async () => {
    const server = await started({}, letters);
    const watch = openWatch(server, `resourceVersion=${server.store.resourceVersion}`);
    await expect.poll(() => server.watches.size).toBe(1);
    server.holdWatches({ resource: 'services' });
    server.store.delete('services', 'default', 'a');
    server.store.apply(service('g'));
    await sleep(50);
    expect(watch.events()).toEqual([]);
    server.releaseWatches();
    await expect.poll(watch.events).toEqual(['DELETED a', 'ADDED g']);
  });

  test('stall: the watch goes silent for good and stays open; a new one works', async () => {
    const server = await started({}, letters);
    const version = server.store.resourceVersion;
    const watch = openWatch(server, `resourceVersion=${version}`);
    await expect.poll(() => server.watches.size).toBe(1);
    server.stallWatches();
    server.store.apply(service('g'));
    const second = openWatch(server, `resourceVersion=${version}`);
    await expect.poll(second.events).toEqual(['ADDED g']);
    expect(watch.text()).toBe('');
    expect(await Promise.race([watch.answer, sleep(50, 'open')])).toBe('open');
  });

  test.each(['reset', 'close', 'end'] as const)('cut in the middle of a frame: %s', async (how) => {
    const server = await started({}, letters);
    const watch = openWatch(server, `resourceVersion=${server.store.resourceVersion}`);
    await expect.poll(() => server.watches.size).toBe(1);
    server.cutWatches({ how, midFrame: true });
    if (how === 'reset') {
      // RST may discard what was sent before it, the head of the answer included.
      expect(await watch.answer.then((answer) => answer.broken, errorCodeOf)).toSatisfy(
        (outcome) => outcome === true || outcome === 'ECONNRESET',
      );
      return;
    }
    const answer = await watch.answer;
    expect(answer.broken).toBe(how !== 'end');
    expect(answer.body.toString()).toContain('BOOKMARK');
    expect(() => watch.events()).toThrow('not complete');
  });

  test('history expires: old versions give 410 in the stream or as HTTP status, open watches on demand', async () => {
    const server = await started({}, letters);
    const version = server.store.resourceVersion;
    const open = openWatch(server, `resourceVersion=${version}`);
    await expect.poll(() => server.watches.size).toBe(1);
    server.expireHistory({ openWatches: true });
    await open.answer;
    expect(JSON.parse(open.text()).object.code).toBe(410);
    const late = openWatch(server, `resourceVersion=${version}`);
    const answer = await late.answer;
    expect(answer.status).toBe(200);
    expect(JSON.parse(late.text())).toMatchObject({
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    });
    server.faults.add({ action: { kind: 'expired', form: 'http' } });
    const refused = await openWatch(server, `resourceVersion=${server.store.resourceVersion}`).answer;
    expect(refused.status).toBe(410);
    // A fresh list can be watched from.
    const fresh = await getJson(server, `${services}?resourceVersion=0`);
    const next = openWatch(server, `resourceVersion=${fresh.metadata.resourceVersion}`);
    server.store.apply(service('n'));
    await expect.poll(next.events).toEqual(['ADDED n']);
  });

  test('rewind: objects and versions of an older time; a watch from the lost future hears nothing old', async () => {
    const server = await started({}, letters);
    const backup = server.store.resourceVersion;
    for (const name of ['x', 'y', 'z']) server.store.apply(service(name));
    const future = server.store.resourceVersion;
    const { port } = new URL(server.url);
    await server.rewind(backup);
    expect(new URL(server.url).port).toBe(port);
    expect(names(await getJson(server, services))).toEqual(['a', 'b', 'c', 'd', 'e']);
    const watch = openWatch(server, `resourceVersion=${future}`);
    await expect.poll(() => server.watches.size).toBe(1);
    server.store.apply(service('new'));
    await sleep(50);
    expect(server.store.resourceVersion).toBe(backup + 1);
    expect(watch.text()).toBe('');
  });
});

describe('faults', () => {
  test('a status with Retry-After, once, after one request that goes by', async () => {
    const server = await started({}, letters);
    server.faults.add({
      on: { verb: 'list' },
      skip: 1,
      action: { kind: 'status', code: 429, retryAfterSeconds: 3 },
    });
    expect((await fetchBytes(server.url + services)).status).toBe(200);
    const hit = await fetchBytes(server.url + services);
    expect(hit.status).toBe(429);
    expect(hit.headers['retry-after']).toBe('3');
    expect((await fetchBytes(server.url + services)).status).toBe(200);
  });

  test('cut a list after some bytes', async () => {
    const server = await started({}, letters);
    server.faults.add({ action: { kind: 'cut', afterBytes: 100 } });
    const answer = await fetchBytes(server.url + services);
    expect(answer.broken).toBe(true);
    expect(answer.body.length).toBe(100);
  });

  test('stall a list after some bytes', async () => {
    const server = await started({}, letters);
    server.faults.add({ action: { kind: 'stall', afterBytes: 100 } });
    let received = 0;
    const pending = fetchBytes(server.url + services, {
      onData: (bytes) => {
        received += bytes.length;
      },
    });
    await expect.poll(() => received).toBe(100);
    expect(await Promise.race([pending, sleep(50, 'open')])).toBe('open');
  });

  test('trickle a list, complete in the end', async () => {
    const server = await started({}, letters);
    const whole = (await fetchBytes(server.url + services)).body;
    server.faults.add({ action: { kind: 'trickle', bytesPerSecond: whole.length * 4 } });
    const start = performance.now();
    const slow = await fetchBytes(server.url + services);
    expect(performance.now() - start).toBeGreaterThan(150);
    expect(slow.body.equals(whole)).toBe(true);
  });

  test('corrupt bytes; hang; delay', async () => {
    const server = await started({}, letters);
    server.faults.add({ action: { kind: 'corrupt', atByte: 2, hex: 'ff00' } });
    expect((await fetchBytes(server.url + services)).body.subarray(1, 5).toString('hex')).toBe('22ff006e');
    server.faults.add({ action: { kind: 'delay', milliseconds: 80 } });
    const start = performance.now();
    await fetchBytes(server.url + services);
    expect(performance.now() - start).toBeGreaterThan(70);
    server.faults.add({ action: { kind: 'hang' } });
    expect(await Promise.race([fetchBytes(server.url + services), sleep(80, 'open')])).toBe('open');
  });

  test('no protobuf: 406, and JSON where the client takes it as well', async () => {
    const server = await started({ protobuf: false }, letters);
    const protobuf = 'application/vnd.kubernetes.protobuf';
    expect((await fetchBytes(server.url + services, { accept: protobuf })).status).toBe(406);
    const both = await fetchBytes(server.url + services, { accept: `${protobuf},application/json` });
    expect(both.headers['content-type']).toBe('application/json');
  });

  test('missing and forbidden resources', async () => {
    const server = await started({ absent: ['servicecidrs'], denied: ['nodes'] });
    const missing = await fetchBytes(`${server.url}/apis/networking.k8s.io/v1/servicecidrs`);
    expect(missing.status).toBe(404);
    expect((await fetchBytes(`${server.url}/api/v1/nodes`)).status).toBe(403);
  });

  test('restart: the port is closed meanwhile, then the same one answers', async () => {
    const server = await started({}, letters);
    const { url } = server;
    const watch = openWatch(server, `resourceVersion=${server.store.resourceVersion}`);
    await expect.poll(() => server.watches.size).toBe(1);
    const restarted = server.restart(100);
    expect((await watch.answer).broken).toBe(true);
    await expect(fetchBytes(url + services)).rejects.toThrow(/ECONNREFUSED/);
    await restarted;
    expect(server.url).toBe(url);
    expect((await fetchBytes(url + services)).status).toBe(200);
  });
});

describe('who may come in', () => {
  test('tokens can be rotated', async () => {
    const server = await started({ tokens: ['old'] }, letters);
    expect((await fetchBytes(server.url + services)).status).toBe(401);
    expect((await fetchBytes(server.url + services, { token: 'old' })).status).toBe(200);
    server.settings.tokens = ['new'];
    expect((await fetchBytes(server.url + services, { token: 'old' })).status).toBe(401);
    expect((await fetchBytes(server.url + services, { token: 'new' })).status).toBe(200);
  });

  test('TLS with client certificates; the server certificate can be replaced', async () => {
    const authority = makeAuthority('test CA');
    const clientAuthority = makeAuthority('client CA');
    const client = makeCertificate(clientAuthority, 'system:kube-proxy');
    const identity = makeCertificate(authority, 'kube-apiserver', ['127.0.0.1']);
    const server = await started({ tls: { ...identity, clientCa: clientAuthority.certificate } }, letters);
    const ca = authority.certificate;
    expect((await fetchBytes(server.url + services, { ca })).status).toBe(401);
    const trusted = { ca, certificate: client.certificate, key: client.key };
    expect((await fetchBytes(server.url + services, trusted)).status).toBe(200);
    await expect(fetchBytes(server.url + services, { ca: clientAuthority.certificate })).rejects.toThrow();
    const other = makeAuthority('other CA');
    server.setTls(makeCertificate(other, 'kube-apiserver', ['127.0.0.1']));
    await expect(fetchBytes(server.url + services, trusted)).rejects.toThrow();
    expect((await fetchBytes(server.url + services, { ca: other.certificate })).status).toBe(200);
  });
});

test('events are taken and kept; a patch replaces what it names', async () => {
  const server = await started();
  const url = `${server.url}/apis/events.k8s.io/v1/namespaces/default/events`;
  const event = { metadata: { name: 'node1.1', namespace: 'default' }, reason: 'Starting' };
  const send = (method: string, target: string, body: object) =>
    fetch(target, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  expect((await send('POST', url, event)).status).toBe(201);
  expect((await send('PATCH', `${url}/node1.1`, { series: { count: 2 } })).status).toBe(200);
  expect((await send('PATCH', `${url}/absent`, { series: { count: 2 } })).status).toBe(404);
  expect(server.events).toEqual([{ ...event, series: { count: 2 } }]);
});
