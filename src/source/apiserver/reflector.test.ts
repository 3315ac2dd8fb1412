import { describe, expect, test } from 'vitest';
import { jsonList, list, refusal, service, watch } from './testing/answers.ts';
import { openWatch, query, reflectorRig, selectors } from './testing/reflector-rig.ts';
import type { Answer } from './testing/scripted-server.ts';

const rig = reflectorRig();

describe('list and watch', () => {
  test('asks as client-go does, and delivers everything, then the changes', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [service('a', 5), service('b', 6)], answer);
    rig.start();
    await rig.requests(2);
    await rig.calls(3);
    expect(rig.sink.take()).toEqual(['set ns/a@5', 'set ns/b@6', 'synced']);
    expect(query(rig.server.requests[0])).toEqual({ ...selectors, limit: '500', resourceVersion: '0' });
    expect(rig.server.requests[0]).toMatchObject({
      method: 'GET',
      path: '/api/v1/services',
      headers: {
        accept: 'application/vnd.kubernetes.protobuf',
        'user-agent': expect.stringMatching(/^fairlead\/test \(linux\//),
      },
    });
    expect(query(rig.server.requests[1])).toEqual({
      ...selectors,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '300',
    });
    expect(rig.server.requests[1]!.headers.accept).toBe('application/vnd.kubernetes.protobuf;stream=watch');
    opened()
      .send('ADDED', service('c', 11))
      .send('MODIFIED', service('a', 12))
      .send('DELETED', service('b', 13));
    await rig.calls(3);
    expect(rig.sink.take()).toEqual(['set ns/c@11', 'set ns/a@12', 'delete ns/b']);
  });

  test('reads all pages before it deletes or is in step', async () => {
    rig.server.answer(
      list([service('a', 1)], { resourceVersion: '9', continue: 'next page' }),
      list([service('b', 2)], { resourceVersion: '9', continue: 'last page' }),
      list([service('c', 3)], { resourceVersion: '9' }),
      watch(),
    );
    rig.start({ pageSize: 1 });
    await rig.requests(4);
    expect(rig.sink.calls).toEqual(['set ns/a@1', 'set ns/b@2', 'set ns/c@3', 'synced']);
    expect(query(rig.server.requests[1])).toEqual({ ...selectors, limit: '1', continue: 'next page' });
  });

  test('an expired continue token: the list is read anew, in one piece', async () => {
    rig.server.answer(
      list([service('a', 1), service('gone', 2)], { resourceVersion: '9', continue: 'page 2' }),
      refusal(410, 'Expired'),
      list([service('a', 1), service('b', 12)], { resourceVersion: '20' }),
      watch(),
    );
    rig.start();
    await rig.requests(4);
    expect(rig.sink.calls).toEqual([
      'set ns/a@1',
      'set ns/gone@2',
      'set ns/b@12',
      'delete ns/gone',
      'synced',
    ]);
    expect(query(rig.server.requests[2])).toEqual({ ...selectors, resourceVersion: '0' });
    expect(rig.clock.delays.filter((delay) => delay >= 800 && delay < 10_000)).toEqual([]);
  });

  test('goes on from the last bookmark when the server ends the watch in time', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [], answer, watch());
    rig.start();
    await rig.requests(2);
    opened().send('ADDED', service('a', 11)).bookmark(40);
    await rig.calls(2);
    rig.clock.skip(290_000);
    opened().end();
    await rig.requests(3);
    expect(query(rig.server.requests[2])).toMatchObject({ resourceVersion: '40', watch: 'true' });
    expect(rig.warnings).toEqual([]);
  });

  test('pages and the watch after them share one connection', async () => {
    const ports = new Set<number | undefined>();
    const noted =
      (answer: Answer): Answer =>
      (response, request) => {
        ports.add(response.socket?.remotePort);
        answer(response, request);
      };
    rig.server.answer(
      noted(list([service('a', 1)], { resourceVersion: '9', continue: 'next' })),
      noted(list([service('b', 2)], { resourceVersion: '9' })),
      noted(watch()),
    );
    rig.start();
    await rig.requests(3);
    expect(ports.size).toBe(1);
  });

  test('an object that became unreadable and is then deleted is gone', async () => {
    const broken = { ...service('a', 12), spec: { ports: [{ port: 'http' }] } };
    const event = (type: string, version: number) =>
      `${JSON.stringify({ type, object: { ...broken, metadata: { name: 'a', namespace: 'ns', resourceVersion: String(version) } } })}\n`;
    rig.server.answer(jsonList([service('a', 5)], { resourceVersion: '10' }), (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(event('MODIFIED', 11));
      response.write(event('DELETED', 12));
    });
    rig.start();
    await rig.calls(3);
    expect(rig.sink.take()).toEqual(['set ns/a@5', 'synced', 'delete ns/a']);
  });

  test('an object that cannot be read is skipped, and not taken for deleted', async () => {
    const nameless = { metadata: { namespace: 'ns', resourceVersion: '11' } };
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [service('a', 1), nameless], answer);
    rig.start();
    await rig.requests(2);
    opened().send('MODIFIED', nameless).send('ADDED', service('b', 12));
    await rig.calls(3);
    expect(rig.sink.take()).toEqual(['set ns/a@1', 'synced', 'set ns/b@12']);
    expect(rig.warnings).toEqual([
      'Skipping an object that cannot be read',
      'Skipping an object that cannot be read',
    ]);
  });
});

describe('WatchList', () => {
  test('initial events, then the end bookmark, then changes', async () => {
    const { answer, opened } = openWatch();
    rig.server.answer(answer);
    rig.start({ useWatchList: true, minBackoffMs: 20 }, 1);
    await rig.requests(1);
    expect(query(rig.server.requests[0])).toEqual({
      ...selectors,
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      timeoutSeconds: '300',
    });
    opened().send('ADDED', service('a', 50)).send('ADDED', service('b', 7));
    await rig.calls(2);
    expect(rig.sink.take()).toEqual(['set ns/a@50', 'set ns/b@7']);
    opened().bookmark(60, true).send('DELETED', service('a', 61)).bookmark(70);
    await rig.calls(2);
    expect(rig.sink.take()).toEqual(['synced', 'delete ns/a']);
    rig.server.answer(list([], { resourceVersion: '70' }), watch());
    opened().cut();
    await rig.requests(3);
    expect(query(rig.server.requests[2])).toMatchObject({ resourceVersion: '70' });
  });

  test.each([
    [400, 'BadRequest'],
    [422, 'Invalid'],
  ])('a server that answers %i gets lists, at once', async (code, reason) => {
    rig.server.answer(refusal(code, reason), list([service('a', 1)], { resourceVersion: '9' }), watch());
    rig.start({ useWatchList: true }, 1);
    await rig.requests(3);
    expect(rig.sink.calls).toEqual(['set ns/a@1', 'synced']);
    expect(query(rig.server.requests[1])).toMatchObject({ resourceVersion: '0' });
    expect(rig.clock.delays.filter((delay) => delay >= 800 && delay < 10_000)).toEqual([]);
  });

  const tooLarge = refusal(504, 'Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } });
  test.each<[string, Answer]>([
    ['answers 504 because its cache does not come as far', tooLarge],
    ['answers 500', refusal(500, 'InternalError')],
    ['sends an ERROR event', watch((opened) => opened.error(500, 'InternalError').end())],
    ['sends what cannot be read', watch((opened) => opened.response.end(Buffer.from('7fffffff', 'hex')))],
  ])('a server that %s is asked for pages once', async (_, answer) => {
    rig.server.answer(
      answer,
      list([service('a', 1)], { resourceVersion: '9' }),
      refusal(410, 'Expired'),
      watch((opened) => opened.send('ADDED', service('a', 1)).bookmark(20, true)),
    );
    rig.start({ useWatchList: true });
    await rig.requests(4);
    expect(rig.sink.calls).toEqual(['set ns/a@1', 'synced']);
    expect(query(rig.server.requests[1])).toMatchObject({ limit: '500' });
    expect(query(rig.server.requests[3])).toMatchObject({ sendInitialEvents: 'true' });
  });

  test('a server that never ends the initial events gets lists', async () => {
    rig.server.answer(
      watch((opened) => opened.send('ADDED', service('a', 1))),
      list([service('a', 1), service('b', 2)], { resourceVersion: '9' }),
      watch(),
    );
    rig.start({ useWatchList: true }, 200);
    await rig.requests(3);
    expect(rig.sink.calls).toEqual(['set ns/a@1', 'set ns/b@2', 'synced']);
  });

  test('initial events that are cut delete nothing, and the next try brings the difference', async () => {
    const { answer, opened } = openWatch();
    rig.server.answer(answer, answer, answer);
    rig.start({ useWatchList: true, minBackoffMs: 20 }, 1);
    await rig.requests(1);
    opened().send('ADDED', service('a', 1)).send('ADDED', service('b', 2)).bookmark(10, true);
    await rig.calls(3);
    rig.sink.take();
    opened().error(410, 'Expired');
    await rig.requests(2);
    expect(query(rig.server.requests[1])).toMatchObject({ sendInitialEvents: 'true', resourceVersion: '10' });
    opened().send('ADDED', service('b', 20)).cut();
    await rig.requests(3);
    expect(rig.sink.take()).toEqual(['set ns/b@20']);
    opened().send('ADDED', service('b', 20)).send('ADDED', service('c', 21)).bookmark(30, true);
    await rig.calls(2);
    expect(rig.sink.take()).toEqual(['set ns/c@21', 'delete ns/a']);
  });
});
