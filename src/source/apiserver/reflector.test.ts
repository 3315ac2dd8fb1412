import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Logger } from '../../base/logger.ts';
import { silentLogger } from '../../base/logger.ts';
import type { Service } from '../../kube/service.ts';
import { ApiClient } from './api-client.ts';
import { services } from './api-resource.ts';
import { CredentialProvider } from './credentials.ts';
import { ListWatch } from './list-watch.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { jsonList, list, type OpenWatch, refusal, service, watch } from './testing/answers.ts';
import { FastClock } from './testing/fast-clock.ts';
import { RecordingSink } from './testing/recording-sink.ts';
import { type Answer, type ReceivedRequest, ScriptedServer } from './testing/scripted-server.ts';
import { waitUntil } from './testing/wait-until.ts';

let server: ScriptedServer;
let sink: RecordingSink<Service>;
let clock: FastClock;
let warnings: string[];
let stop: () => Promise<void>;

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  sink = new RecordingSink();
  warnings = [];
  stop = async () => {};
});

afterEach(async () => {
  await stop();
  await server.close();
});

function start(
  options: Partial<ReflectorOptions> = {},
  speed = 20,
  answerTimeoutMs = 3_600_000,
): Reflector<Service> {
  clock = new FastClock(speed);
  const logger: Logger = {
    ...silentLogger,
    warn: (message) => void warnings.push(message),
    with: () => logger,
  };
  const env = {};
  const credentials = new CredentialProvider({ kubeconfig: '', master: server.url }, { clock, logger, env });
  const clientOptions = { version: 'test', qps: -1, burst: 1, answerTimeoutMs };
  const client = new ApiClient(clientOptions, { credentials, clock, env });
  const listWatch = new ListWatch(services, client, clock);
  const reflector = new Reflector(
    { accept: 'application/vnd.kubernetes.protobuf', useWatchList: false, ...options },
    { listWatch, sink, clock, logger, random: () => 0 },
  );
  const controller = new AbortController();
  const running = reflector.run(controller.signal);
  stop = async () => {
    controller.abort();
    await running;
    client.close();
  };
  return reflector;
}

/** Answers the list with these Services, and watches with `watches` in turn. */
function listThenWatch(version: number, objects: object[], ...watches: Answer[]): void {
  server.answer(list(objects, { resourceVersion: String(version) }), ...watches);
}

const query = (request: ReceivedRequest | undefined) => Object.fromEntries(request!.query);
const selectors = {
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
};
const requests = (count: number) => waitUntil(() => server.requests.length >= count, `${count} requests`);
const calls = (count: number) => waitUntil(() => sink.calls.length >= count, `${count} calls`);

/** An answer that stays open; `opened` resolves with the latest one. */
function openWatch(): { answer: Answer; opened: () => OpenWatch } {
  let latest: OpenWatch | undefined;
  return {
    answer: watch((opened) => {
      latest = opened;
    }),
    opened: () => latest!,
  };
}

describe('list and watch', () => {
  test('asks as client-go does, and delivers everything, then the changes', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(10, [service('a', 5), service('b', 6)], answer);
    start();
    await requests(2);
    await calls(3);
    expect(sink.take()).toEqual(['set ns/a@5', 'set ns/b@6', 'synced']);
    expect(query(server.requests[0])).toEqual({ ...selectors, limit: '500', resourceVersion: '0' });
    expect(server.requests[0]).toMatchObject({
      method: 'GET',
      path: '/api/v1/services',
      headers: {
        accept: 'application/vnd.kubernetes.protobuf',
        'user-agent': expect.stringMatching(/^fairlead\/test \(linux\//),
      },
    });
    expect(query(server.requests[1])).toEqual({
      ...selectors,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '300',
    });
    expect(server.requests[1]!.headers.accept).toBe('application/vnd.kubernetes.protobuf;stream=watch');
    opened()
      .send('ADDED', service('c', 11))
      .send('MODIFIED', service('a', 12))
      .send('DELETED', service('b', 13));
    await calls(3);
    expect(sink.take()).toEqual(['set ns/c@11', 'set ns/a@12', 'delete ns/b']);
  });

  test('reads all pages before it deletes or is in step', async () => {
    server.answer(
      list([service('a', 1)], { resourceVersion: '9', continue: 'next page' }),
      list([service('b', 2)], { resourceVersion: '9', continue: 'last page' }),
      list([service('c', 3)], { resourceVersion: '9' }),
      watch(),
    );
    start({ pageSize: 1 });
    await requests(4);
    expect(sink.calls).toEqual(['set ns/a@1', 'set ns/b@2', 'set ns/c@3', 'synced']);
    expect(query(server.requests[1])).toEqual({ ...selectors, limit: '1', continue: 'next page' });
  });

  test('an expired continue token: the list is read anew, in one piece', async () => {
    server.answer(
      list([service('a', 1), service('gone', 2)], { resourceVersion: '9', continue: 'page 2' }),
      refusal(410, 'Expired'),
      list([service('a', 1), service('b', 12)], { resourceVersion: '20' }),
      watch(),
    );
    start();
    await requests(4);
    expect(sink.calls).toEqual(['set ns/a@1', 'set ns/gone@2', 'set ns/b@12', 'delete ns/gone', 'synced']);
    expect(query(server.requests[2])).toEqual({ ...selectors, resourceVersion: '0' });
    expect(clock.delays.filter((delay) => delay >= 800 && delay < 10_000)).toEqual([]);
  });

  test('goes on from the last bookmark when the server ends the watch in time', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(10, [], answer, watch());
    start();
    await requests(2);
    opened().send('ADDED', service('a', 11)).bookmark(40);
    await calls(2);
    clock.skip(290_000);
    opened().end();
    await requests(3);
    expect(query(server.requests[2])).toMatchObject({ resourceVersion: '40', watch: 'true' });
    expect(warnings).toEqual([]);
  });

  test('an object that cannot be read is skipped, and not taken for deleted', async () => {
    const nameless = { metadata: { namespace: 'ns', resourceVersion: '11' } };
    const { answer, opened } = openWatch();
    listThenWatch(10, [service('a', 1), nameless], answer);
    start();
    await requests(2);
    opened().send('MODIFIED', nameless).send('ADDED', service('b', 12));
    await calls(3);
    expect(sink.take()).toEqual(['set ns/a@1', 'synced', 'set ns/b@12']);
    expect(warnings).toEqual([
      'Skipping an object that cannot be read',
      'Skipping an object that cannot be read',
    ]);
  });
});

describe('WatchList', () => {
  test('initial events, then the end bookmark, then changes', async () => {
    const { answer, opened } = openWatch();
    server.answer(answer);
    start({ useWatchList: true, minBackoffMs: 20 }, 1);
    await requests(1);
    expect(query(server.requests[0])).toEqual({
      ...selectors,
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      timeoutSeconds: '300',
    });
    opened().send('ADDED', service('a', 50)).send('ADDED', service('b', 7));
    await calls(2);
    expect(sink.take()).toEqual(['set ns/a@50', 'set ns/b@7']);
    opened().bookmark(60, true).send('DELETED', service('a', 61)).bookmark(70);
    await calls(2);
    expect(sink.take()).toEqual(['synced', 'delete ns/a']);
    server.answer(list([], { resourceVersion: '70' }), watch());
    opened().cut();
    await requests(3);
    expect(query(server.requests[2])).toMatchObject({ resourceVersion: '70' });
  });

  test.each([
    [400, 'BadRequest'],
    [422, 'Invalid'],
  ])('a server that answers %i gets lists, at once', async (code, reason) => {
    server.answer(refusal(code, reason), list([service('a', 1)], { resourceVersion: '9' }), watch());
    start({ useWatchList: true }, 1);
    await requests(3);
    expect(sink.calls).toEqual(['set ns/a@1', 'synced']);
    expect(query(server.requests[1])).toMatchObject({ resourceVersion: '0' });
    expect(clock.delays.filter((delay) => delay >= 800 && delay < 10_000)).toEqual([]);
  });

  test('a server that never ends the initial events gets lists', async () => {
    server.answer(
      watch((opened) => opened.send('ADDED', service('a', 1))),
      list([service('a', 1), service('b', 2)], { resourceVersion: '9' }),
      watch(),
    );
    start({ useWatchList: true }, 200);
    await requests(3);
    expect(sink.calls).toEqual(['set ns/a@1', 'set ns/b@2', 'synced']);
  });

  test('initial events that are cut delete nothing, and the next try brings the difference', async () => {
    const { answer, opened } = openWatch();
    server.answer(answer, answer, answer);
    start({ useWatchList: true, minBackoffMs: 20 }, 1);
    await requests(1);
    opened().send('ADDED', service('a', 1)).send('ADDED', service('b', 2)).bookmark(10, true);
    await calls(3);
    sink.take();
    opened().error(410, 'Expired');
    await requests(2);
    expect(query(server.requests[1])).toMatchObject({ sendInitialEvents: 'true', resourceVersion: '10' });
    opened().send('ADDED', service('b', 20)).cut();
    await requests(3);
    expect(sink.take()).toEqual(['set ns/b@20']);
    opened().send('ADDED', service('b', 20)).send('ADDED', service('c', 21)).bookmark(30, true);
    await calls(2);
    expect(sink.take()).toEqual(['set ns/c@21', 'delete ns/a']);
  });
});

describe('the version is too old', () => {
  const forms: [string, Answer][] = [
    ['HTTP 410', refusal(410, 'Gone')],
    ['an ERROR event with code 410', watch((opened) => opened.error(410, 'Expired').end())],
    ['an ERROR event with reason Expired', watch((opened) => opened.error(0, 'Expired').end())],
    ['an ERROR event with reason Gone', watch((opened) => opened.error(0, 'Gone').end())],
  ];
  test.each(forms)('%s: everything is read again, the sink gets the difference', async (_, answer) => {
    listThenWatch(10, [service('a', 1), service('b', 2), service('c', 3)], answer);
    server.answer(
      list([service('a', 1), service('b', 2), service('c', 3)], { resourceVersion: '10' }),
      answer,
      list([service('a', 1), service('c', 33), service('d', 34)], { resourceVersion: '40' }),
      watch(),
    );
    start();
    await requests(4);
    expect(sink.calls).toEqual([
      'set ns/a@1',
      'set ns/b@2',
      'set ns/c@3',
      'synced',
      'set ns/c@33',
      'set ns/d@34',
      'delete ns/b',
    ]);
    expect(query(server.requests[2])).toEqual({ ...selectors, resourceVersion: '10' });
    expect(query(server.requests[3])).toMatchObject({ resourceVersion: '40' });
  });

  test('a server that lists well and refuses each watch is asked less and less often', async () => {
    const expired = refusal(410, 'Expired');
    const page = list([], { resourceVersion: '10' });
    server.answer(page, expired, page, expired, page, expired, page, expired, page, watch());
    start({}, 100);
    await requests(10);
    expect(clock.delays.filter((delay) => [800, 1600, 3200, 6400].includes(delay))).toEqual([
      800, 1600, 3200, 6400,
    ]);
  });
});

describe('the server is behind', () => {
  const tooLarge = refusal(504, 'Timeout', {
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
  });

  test('too large a version: waits, then asks for the latest', async () => {
    server.answer(
      list([service('a', 90)], { resourceVersion: '100' }),
      refusal(410, 'Expired'),
      tooLarge,
      list([service('a', 90), service('b', 120)], { resourceVersion: '130' }),
      watch(),
    );
    start();
    await requests(5);
    expect(query(server.requests[3])).toEqual({ ...selectors, limit: '500' });
    expect(sink.calls).toEqual(['set ns/a@90', 'synced', 'set ns/b@120']);
    expect(clock.delays.some((delay) => delay >= 1000 && delay < 2000)).toBe(true);
  });

  test('after a cut it is asked first; history that went back is read in full, equal versions included', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(
      100,
      [service('a', 90, 80), service('gone', 95)],
      answer,
      list([], { resourceVersion: '60' }),
    );
    start();
    await requests(2);
    await calls(3);
    sink.take();
    server.answer(
      list([], { resourceVersion: '60' }),
      list([service('a', 90, 81), service('b', 50)], { resourceVersion: '95' }),
      watch(),
    );
    opened().cut();
    await requests(5);
    expect(query(server.requests[2])).toEqual({
      ...selectors,
      limit: '1',
      resourceVersion: '100',
      resourceVersionMatch: 'NotOlderThan',
    });
    expect(query(server.requests[3])).toEqual({ ...selectors, limit: '500' });
    expect(sink.take()).toEqual(['set ns/a@90', 'set ns/b@50', 'delete ns/gone']);
    expect(sink.objects.get('ns/a')?.ports[0]?.port).toBe(81);
    expect(query(server.requests[4])).toMatchObject({ watch: 'true', resourceVersion: '95' });
  });

  test('an event of an older version means the same', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(100, [service('a', 90)], answer);
    start();
    await requests(2);
    server.answer(list([service('a', 40)], { resourceVersion: '60' }), watch());
    opened().send('ADDED', service('z', 55));
    await requests(4);
    expect(sink.take()).toEqual(['set ns/a@90', 'synced', 'set ns/a@40']);
  });

  test('a list that turns out older is read again with all objects taken as new', async () => {
    server.answer(
      list([service('a', 90, 80)], { resourceVersion: '100' }),
      refusal(410, 'Expired'),
      list([service('a', 90, 81)], { resourceVersion: '95' }),
      list([service('a', 90, 81)], { resourceVersion: '95' }),
      watch(),
    );
    start();
    await requests(5);
    expect(sink.objects.get('ns/a')?.ports[0]?.port).toBe(81);
    expect(sink.calls).toEqual(['set ns/a@90', 'synced', 'set ns/a@90']);
  });
});

describe('failures', () => {
  test('a connection that is refused: nothing is deleted, delays double up to the limit, then on from the last version', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(10, [service('a', 1)], answer);
    start({}, 100);
    await requests(2);
    const { port } = server;
    await server.close();
    await waitUntil(() => clock.delays.includes(30_000), 'the longest delay');
    expect(clock.delays.filter((delay) => [800, 1600, 3200, 6400, 12_800, 25_600].includes(delay))).toEqual([
      800, 1600, 3200, 6400, 12_800, 25_600,
    ]);
    expect(sink.take()).toEqual(['set ns/a@1', 'synced']);
    const before = server.requests.length;
    server = new ScriptedServer();
    server.answer(
      list([], { resourceVersion: '12' }),
      watch((again) => again.send('DELETED', service('a', 12))),
    );
    await server.listen(port);
    await calls(1);
    expect(sink.take()).toEqual(['delete ns/a']);
    expect(query(server.requests[1])).toMatchObject({ resourceVersion: '10', watch: 'true' });
    expect(before).toBe(2);
    expect(opened).toBeDefined();
  });

  test('a watch cut within a frame goes on from the last whole event', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(10, [], answer, list([], { resourceVersion: '20' }), watch());
    start();
    await requests(2);
    opened().send('ADDED', service('a', 11)).cut();
    await requests(4);
    expect(sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(query(server.requests[3])).toMatchObject({ resourceVersion: '11' });
  });

  test('a frame that cannot be read leads to a new list', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(10, [], answer, list([service('a', 11)], { resourceVersion: '20' }), watch());
    start();
    await requests(2);
    opened().response.write(Buffer.from('7fffffff', 'hex'));
    await requests(4);
    expect(sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(server.requests[2]!.query.has('watch')).toBe(false);
  });

  test('silence: the watch is cut and taken up again', async () => {
    const { answer, opened } = openWatch();
    listThenWatch(
      10,
      [],
      answer,
      list([], { resourceVersion: '10' }),
      watch((again) => again.send('ADDED', service('a', 11))),
    );
    start({ silenceMs: 2000 }, 20); // 100 ms
    await requests(2);
    const closed = new Promise((resolve) => opened().response.on('close', resolve));
    await calls(2);
    await closed;
    expect(sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(query(server.requests[2])).toMatchObject({ resourceVersionMatch: 'NotOlderThan' });
    expect(warnings).toContain('The API server has gone silent');
  });

  test('a server that never answers is given up', async () => {
    server.answer(() => {}, list([], { resourceVersion: '1' }), watch());
    start({}, 100, 10_000); // 100 ms
    await requests(3);
    expect(sink.calls).toEqual(['synced']);
    expect(warnings).toContain('The API server has gone silent');
  });

  test.each([
    [429, 'TooManyRequests'],
    [503, 'ServiceUnavailable'],
  ])('%i with Retry-After', async (code, reason) => {
    server.answer(
      refusal(code, reason, { headers: { 'retry-after': '7' } }),
      list([], { resourceVersion: '1' }),
      watch(),
    );
    start({}, 200);
    await requests(3);
    expect(clock.delays).toContain(7000);
    expect(sink.calls).toEqual(['synced']);
  });

  test.each([
    [401, 'Unauthorized', /do(es)? not accept our credentials \(401\)/],
    [403, 'Forbidden', /lack a permission \(403\)/],
    [500, 'InternalError', /refused a request/],
  ])('%i is logged plainly and retried', async (code, reason, message) => {
    server.answer(refusal(code, reason), list([], { resourceVersion: '1' }), watch());
    start({}, 200);
    await requests(3);
    expect(warnings).toEqual([expect.stringMatching(message)]);
    expect(sink.calls).toEqual(['synced']);
  });

  test.each([406, 415])('%i: asks for JSON from then on', async (code) => {
    const event = { type: 'ADDED', object: service('b', 11) };
    server.answer(
      refusal(code, 'NotAcceptable'),
      jsonList([service('a', 1)], { resourceVersion: '9' }),
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(`${JSON.stringify(event)}\n`);
      },
    );
    start();
    await calls(3);
    expect(sink.calls).toEqual(['set ns/a@1', 'synced', 'set ns/b@11']);
    expect(server.requests.map(({ headers }) => headers.accept)).toEqual([
      'application/vnd.kubernetes.protobuf',
      'application/json',
      'application/json',
    ]);
  });

  test('a watch that ends at once, again and again, is not hammered', async () => {
    listThenWatch(
      10,
      [],
      watch((opened) => opened.end()),
      list([], { resourceVersion: '10' }),
      watch((opened) => opened.end()),
      list([], { resourceVersion: '10' }),
      watch(),
    );
    start();
    await requests(6);
    expect(clock.delays.filter((delay) => delay === 800 || delay === 1600)).toEqual([800, 1600]);
  });
});

describe('stopping', () => {
  test('ends an open watch and a pending delay', async () => {
    const { answer } = openWatch();
    listThenWatch(10, [], answer);
    start();
    await requests(2);
    await stop();
    await waitUntil(() => server.connections === 0, 'the connection is closed');
    server.answer(refusal(503, 'ServiceUnavailable', { headers: { 'retry-after': '3600' } }));
    start();
    await requests(3);
    await stop();
    expect(server.requests.length).toBe(3);
  });
});
