import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiServer } from './api-server.ts';
import { ObjectStore } from './object-store.ts';
import { unpack } from './read-objects.ts';
import { type FetchedAnswer, fetchBytes } from './testing/fetch-bytes.ts';
import { watchFrames } from './testing/watch-frames.ts';

// Replays the requests behind test/recordings/apiserver against the stand-in, loaded with the recorded objects.

interface Recorded {
  readonly file: string;
  readonly about: string;
  readonly request: { readonly method: string; readonly path: string; readonly accept: string };
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
}

const folder = join(import.meta.dirname, '../recordings/apiserver');
const bytes = (file: string) => readFileSync(join(folder, file));
const json = (file: string) => JSON.parse(bytes(file).toString());
const index: readonly Recorded[] = json('index.json');
const entry = (file: string) => index.find((candidate) => candidate.file === file)!;
const good = 'good-token';

/** A store like the recorded server's, which had reached this version. */
function recordedStore(resourceVersion: number): ObjectStore {
  const store = new ObjectStore(resourceVersion);
  const lists = ['services-list', 'endpointslices-list', 'node-list-by-name', 'servicecidrs-list'];
  store.load(
    lists.flatMap((list) => unpack(json(`${list}.json`))),
    { keepVersions: true },
  );
  return store;
}

/** A JSON value with everything that differs between two runs masked. */
function masked(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner) => {
    if (key === 'resourceVersion' && /^\d+$/.test(inner)) return 'version';
    if (key === 'continue')
      return Buffer.from(inner, 'base64url')
        .toString()
        .replace(/"rv":\d+/, '"rv":0');
    return inner;
  });
  return JSON.parse(text.replace(/too old resource version: \d+ \(\d+\)/, 'too old resource version: N (N)'));
}

describe.each(['json', 'pb'])('answers of one request as recorded: %s', (encoding) => {
  let server: ApiServer;
  const ask = (file: string, token = good): Promise<FetchedAnswer> => {
    const { request } = entry(file);
    return fetchBytes(server.url + request.path, { accept: request.accept, token });
  };

  beforeAll(async () => {
    server = new ApiServer({ store: recordedStore(87), tokens: [good] });
    await server.listen();
  });
  afterAll(() => server.close());

  const plain = [
    'services-list',
    'services-list-page1',
    'endpointslices-list',
    'node-list-by-name',
    'servicecidrs-list',
    'node-get-missing',
    'forbidden',
    'unauthorized',
    'not-acceptable',
  ];
  test.each(plain)('%s', async (name) => {
    const file = `${name}.${encoding}`;
    const recorded = entry(file).response;
    const answer = await ask(file, name === 'unauthorized' ? 'bad-token' : good);
    expect(answer.status).toBe(recorded.status);
    expect(answer.headers['content-type']).toBe(recorded.headers['content-type']);
    expect(answer.headers['cache-control']).toBe(recorded.headers['cache-control']);
    expect(answer.headers['transfer-encoding']).toBe(recorded.headers['transfer-encoding']);
    if (encoding === 'json') expect(masked(JSON.parse(answer.body.toString()))).toEqual(masked(json(file)));
    else if (answer.status !== 200) expect(hex(answer.body)).toEqual(hex(bytes(file)));
    else expect(unchangedItems(answer.body, bytes(file))).toBeGreaterThan(0);
  });

  test('the version is that of the recorded server', async () => {
    const answer = await fetchBytes(`${server.url}/version`, { accept: 'application/json', token: good });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body.toString()).toBe(bytes('version.json').toString());
  });

  test('list-continue-expired', async () => {
    const expired = new ApiServer({ store: recordedStore(343), tokens: [good] });
    await expired.listen();
    try {
      expired.expireHistory();
      const file = `list-continue-expired.${encoding}`;
      const { request, response } = entry(file);
      const answer = await fetchBytes(expired.url + request.path, { accept: request.accept, token: good });
      expect(answer.status).toBe(response.status);
      expect(answer.headers['content-type']).toBe(response.headers['content-type']);
      if (encoding === 'json') expect(JSON.parse(answer.body.toString())).toEqual(json(file));
      else expect(hex(answer.body)).toEqual(hex(bytes(file)));
    } finally {
      await expired.close();
    }
  });

  test('watch-expired: a version that is too old ends in an ERROR event', async () => {
    const expired = new ApiServer({ store: recordedStore(343) });
    await expired.listen();
    try {
      expired.expireHistory();
      const file = `watch-expired.${encoding}`;
      const { request, response } = entry(file);
      const answer = await fetchBytes(expired.url + request.path, { accept: request.accept });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe(response.headers['content-type']);
      expect(answer.headers['transfer-encoding']).toBeUndefined();
      expect(answer.body.toString('latin1')).toBe(bytes(file).toString('latin1'));
    } finally {
      await expired.close();
    }
  });
});

describe.concurrent.each(['json', 'pb'])('watches as recorded: %s', (encoding) => {
  /** Replays a recorded watch: the same changes are made while it is open. */
  async function replay(
    name: string,
    changes: (server: ApiServer) => void,
    store = recordedStore(
      Number(/resourceVersion=(\d+)/.exec(entry(`${name}.${encoding}`).request.path)?.[1]),
    ),
  ): Promise<void> {
    const file = `${name}.${encoding}`;
    const { request, response } = entry(file);
    const server = new ApiServer({ store });
    await server.listen();
    try {
      const pending = fetchBytes(server.url + request.path, { accept: request.accept });
      await expect.poll(() => server.watches.size).toBe(1);
      changes(server);
      const answer = await pending;
      expect(answer.status).toBe(response.status);
      expect(answer.headers['content-type']).toBe(response.headers['content-type']);
      expect(answer.headers['transfer-encoding']).toBe('chunked');
      const got = watchFrames(answer.body, encoding);
      const recorded = watchFrames(bytes(file), encoding);
      const types = (frames: typeof got) => withoutRepeats(frames.map((frame) => frame.type));
      expect(types(got)).toEqual(types(recorded));
      if (encoding === 'json') {
        const objects = (frames: typeof got) =>
          frames.filter((frame) => frame.type !== 'BOOKMARK').map((frame) => masked(frame.object));
        expect(objects(got)).toEqual(objects(recorded));
        const bookmarks = (frames: typeof got) =>
          new Set(frames.filter((f) => f.type === 'BOOKMARK').map((f) => JSON.stringify(masked(f.object))));
        expect(bookmarks(got)).toEqual(bookmarks(recorded));
      }
    } finally {
      await server.close();
    }
  }

  /** Applies the objects of a recorded JSON watch, one change an event. */
  const applyRecorded = (name: string, server: ApiServer, changes: number) => {
    for (const { type, object } of watchFrames(bytes(`${name}.json`), 'json').slice(0, changes)) {
      const { name: objectName, namespace } = (object as { metadata: { name: string; namespace: string } })
        .metadata;
      if (type === 'DELETED') server.store.delete('services', namespace, objectName);
      else server.store.apply(object as never);
    }
  };

  test('services-watch: added, modified, deleted', async () => {
    await replay('services-watch', (server) => {
      applyRecorded('services-watch', server, encoding === 'json' ? 4 : 3);
    });
  });

  test('watch-label-leaves-selector: DELETED with the old content, ADDED when it comes back', async () => {
    await replay('watch-label-leaves-selector', (server) => {
      const [left, back] = watchFrames(bytes('watch-label-leaves-selector.json'), 'json');
      const { metadata, ...rest } = left!.object as { metadata: Record<string, unknown> };
      const labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
      server.store.apply({ ...rest, metadata: { ...metadata, labels } } as never);
      server.store.apply(back!.object as never);
    });
  });

  test('endpointslices-watchlist: initial objects, the bookmark that ends them, a change', async () => {
    const frames = watchFrames(bytes('endpointslices-watchlist.json'), 'json');
    const kubernetes = frames.find((frame) => JSON.stringify(frame.object).includes('"kubernetes"'))!;
    const store = recordedStore(87);
    store.apply(kubernetes.object as never);
    // The protobuf twin was recorded without a change after the initial objects.
    const change = encoding === 'json' ? frames.findLast((frame) => frame.type === 'MODIFIED') : undefined;
    await replay(
      'endpointslices-watchlist',
      (server) => {
        if (change !== undefined) server.store.apply(change.object as never);
      },
      store,
    );
  }, 10_000);

  test('watch-future: nothing until the time-out', async () => {
    const store = recordedStore(87);
    await replay('watch-future', (server) => applyRecorded('services-watch', server, 4), store);
  });
});

/** Three lines of hex a failure can be read from. */
function hex(buffer: Buffer): string[] {
  return buffer.toString('hex').match(/.{1,64}/g) ?? [];
}

/**
 * Counts the recorded items that the answer holds byte for byte. Both recordings show the same objects; those that were
 * changed between the two have another version.
 */
function unchangedItems(answer: Buffer, recorded: Buffer): number {
  const typeMeta = 6 + recorded[5]!;
  expect(hex(answer.subarray(0, typeMeta))).toEqual(hex(recorded.subarray(0, typeMeta)));
  let same = 0;
  for (const version of ['65', '67', '70', '73', '77', '78', '79', '82', '83', '84', '85', '87', '9']) {
    const marker = Buffer.from([0x32, version.length, ...Buffer.from(version), 0x38]);
    const at = recorded.indexOf(marker);
    const mine = answer.indexOf(marker);
    if (at < 0 || mine < 0) continue;
    expect(hex(answer.subarray(mine, mine + 200))).toEqual(hex(recorded.subarray(at, at + 200)));
    same += 1;
  }
  return same;
}

function withoutRepeats(types: readonly string[]): string[] {
  return types.filter((type, i) => type !== types[i - 1] || type !== 'BOOKMARK');
}
