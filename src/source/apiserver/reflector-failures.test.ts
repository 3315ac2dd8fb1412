import { describe, expect, test } from 'vitest';
import { jsonList, list, refusal, service, watch } from './testing/answers.ts';
import { openWatch, query, reflectorRig, selectors } from './testing/reflector-rig.ts';
import { type Answer, ScriptedServer } from './testing/scripted-server.ts';
import { waitUntil } from './testing/wait-until.ts';

const rig = reflectorRig();

describe('the version is too old', () => {
  const forms: [string, Answer][] = [
    ['HTTP 410', refusal(410, 'Gone')],
    ['an ERROR event with code 410', watch((opened) => opened.error(410, 'Expired').end())],
    ['an ERROR event with reason Expired', watch((opened) => opened.error(0, 'Expired').end())],
    ['an ERROR event with reason Gone', watch((opened) => opened.error(0, 'Gone').end())],
  ];
  test.each(forms)('%s: everything is read again, the sink gets the difference', async (_, answer) => {
    rig.listThenWatch(10, [service('a', 1), service('b', 2), service('c', 3)], answer);
    rig.server.answer(
      list([service('a', 1), service('b', 2), service('c', 3)], { resourceVersion: '10' }),
      answer,
      list([service('a', 1), service('c', 33), service('d', 34)], { resourceVersion: '40' }),
      watch(),
    );
    rig.start();
    await rig.requests(4);
    expect(rig.sink.calls).toEqual([
      'set ns/a@1',
      'set ns/b@2',
      'set ns/c@3',
      'synced',
      'set ns/c@33',
      'set ns/d@34',
      'delete ns/b',
    ]);
    expect(query(rig.server.requests[2])).toEqual({ ...selectors, resourceVersion: '10' });
    expect(query(rig.server.requests[3])).toMatchObject({ resourceVersion: '40' });
  });

  test('a list that is itself too old is asked for without a version', async () => {
    const expired = refusal(410, 'Expired');
    rig.listThenWatch(10, [], expired, expired, list([], { resourceVersion: '40' }), watch());
    rig.start();
    await rig.requests(5);
    expect(query(rig.server.requests[2])).toEqual({ ...selectors, resourceVersion: '10' });
    expect(query(rig.server.requests[3])).toEqual({ ...selectors, limit: '500' });
    expect(query(rig.server.requests[4])).toMatchObject({ resourceVersion: '40' });
  });

  test('a server that lists well and refuses each watch is asked less and less often', async () => {
    const expired = refusal(410, 'Expired');
    const page = list([], { resourceVersion: '10' });
    rig.server.answer(page, expired, page, expired, page, expired, page, expired, page, watch());
    rig.start({}, 100);
    await rig.requests(10);
    expect(rig.clock.delays.filter((delay) => [800, 1600, 3200, 6400].includes(delay))).toEqual([
      800, 1600, 3200, 6400,
    ]);
  });
});

describe('an ERROR event', () => {
  const broken = watch((opened) => opened.error(500, 'InternalError').end());

  test('of another kind: the server may never get past that version, so everything is read again', async () => {
    rig.listThenWatch(10, [], broken, list([service('a', 11)], { resourceVersion: '12' }), watch());
    rig.start();
    await rig.requests(4);
    expect(query(rig.server.requests[2])).toEqual({ ...selectors, resourceVersion: '10' });
    expect(query(rig.server.requests[3])).toMatchObject({ watch: 'true', resourceVersion: '12' });
    expect(rig.sink.calls).toEqual(['synced', 'set ns/a@11']);
  });

  test('that asks for patience: the watch goes on from its version', async () => {
    const busy = watch((opened) => opened.error(429, 'TooManyRequests').end());
    rig.listThenWatch(10, [], busy, watch());
    rig.start();
    await rig.requests(3);
    expect(query(rig.server.requests[2])).toMatchObject({ watch: 'true', resourceVersion: '10' });
  });

  test('again and again: the delays grow', async () => {
    const page = list([], { resourceVersion: '10' });
    rig.listThenWatch(10, [], broken, page, broken, page, broken, page, watch());
    rig.start({}, 100);
    await rig.requests(8);
    expect(rig.clock.delays.filter((delay) => [800, 1600, 3200].includes(delay))).toEqual([800, 1600, 3200]);
  });
});

describe('the server is behind', () => {
  const tooLarge = refusal(504, 'Timeout', {
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
  });

  test('too large a version: waits, then asks for the latest', async () => {
    rig.server.answer(
      list([service('a', 90)], { resourceVersion: '100' }),
      refusal(410, 'Expired'),
      tooLarge,
      list([service('a', 90), service('b', 120)], { resourceVersion: '130' }),
      watch(),
    );
    rig.start();
    await rig.requests(5);
    expect(query(rig.server.requests[3])).toEqual({ ...selectors, limit: '500' });
    // It may be a restored server, on which version 90 is another one.
    expect(rig.sink.calls).toEqual(['set ns/a@90', 'synced', 'set ns/a@90', 'set ns/b@120']);
    expect(rig.clock.delays.some((delay) => delay >= 1000 && delay < 2000)).toBe(true);
  });

  test('too large a version because history went back: one list is enough', async () => {
    rig.listThenWatch(
      100,
      [service('a', 40, 80), service('gone', 95)],
      refusal(503, 'ServiceUnavailable'),
      tooLarge,
      list([service('a', 40, 81)], { resourceVersion: '60' }),
      watch(),
    );
    rig.start();
    await rig.requests(5);
    expect(query(rig.server.requests[4])).toMatchObject({ watch: 'true', resourceVersion: '60' });
    expect(rig.sink.take().slice(3)).toEqual(['set ns/a@40', 'delete ns/gone']);
    expect(rig.sink.objects.get('ns/a')?.ports[0]?.port).toBe(81);
  });

  test('after a cut it is asked first; history that went back is read in full, equal versions included', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(
      100,
      [service('a', 90, 80), service('gone', 95)],
      answer,
      list([], { resourceVersion: '60' }),
    );
    rig.start();
    await rig.requests(2);
    await rig.calls(3);
    rig.sink.take();
    rig.server.answer(
      list([], { resourceVersion: '60' }),
      list([service('a', 90, 81), service('b', 50)], { resourceVersion: '95' }),
      watch(),
    );
    opened().cut();
    await rig.requests(5);
    expect(query(rig.server.requests[2])).toEqual({
      ...selectors,
      limit: '1',
      resourceVersion: '100',
      resourceVersionMatch: 'NotOlderThan',
    });
    expect(query(rig.server.requests[3])).toEqual({ ...selectors, limit: '500' });
    expect(rig.sink.take()).toEqual(['set ns/a@90', 'set ns/b@50', 'delete ns/gone']);
    expect(rig.sink.objects.get('ns/a')?.ports[0]?.port).toBe(81);
    expect(query(rig.server.requests[4])).toMatchObject({ watch: 'true', resourceVersion: '95' });
  });

  test('a watch that ends in good order but before its time may be a restart: the server is asked first', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(100, [], answer, list([], { resourceVersion: '101' }), watch());
    rig.start();
    await rig.requests(2);
    opened().send('ADDED', service('a', 101)).end();
    await rig.requests(4);
    expect(query(rig.server.requests[2])).toMatchObject({ limit: '1', resourceVersion: '101' });
    expect(query(rig.server.requests[3])).toMatchObject({ watch: 'true', resourceVersion: '101' });
  });

  test('an event of an older version means the same', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(100, [service('a', 90)], answer);
    rig.start();
    await rig.requests(2);
    rig.server.answer(list([service('a', 40)], { resourceVersion: '60' }), watch());
    opened().send('ADDED', service('z', 55));
    await rig.requests(4);
    expect(rig.sink.take()).toEqual(['set ns/a@90', 'synced', 'set ns/a@40']);
  });

  test('a list that turns out older is read again with all objects taken as new', async () => {
    rig.server.answer(
      list([service('a', 90, 80)], { resourceVersion: '100' }),
      refusal(410, 'Expired'),
      list([service('a', 90, 81)], { resourceVersion: '95' }),
      list([service('a', 90, 81)], { resourceVersion: '95' }),
      watch(),
    );
    rig.start();
    await rig.requests(5);
    expect(rig.sink.objects.get('ns/a')?.ports[0]?.port).toBe(81);
    expect(rig.sink.calls).toEqual(['set ns/a@90', 'synced', 'set ns/a@90']);
  });
});

describe('failures', () => {
  test('a connection that is refused: nothing is deleted, delays double up to the limit, then on from the last version', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [service('a', 1)], answer);
    rig.start({}, 100);
    await rig.requests(2);
    const { port } = rig.server;
    await rig.server.close();
    await waitUntil(() => rig.clock.delays.includes(30_000), 'the longest delay');
    expect(
      rig.clock.delays.filter((delay) => [800, 1600, 3200, 6400, 12_800, 25_600].includes(delay)),
    ).toEqual([800, 1600, 3200, 6400, 12_800, 25_600]);
    expect(rig.sink.take()).toEqual(['set ns/a@1', 'synced']);
    const before = rig.server.requests.length;
    rig.server = new ScriptedServer();
    rig.server.answer(
      list([], { resourceVersion: '12' }),
      watch((again) => again.send('DELETED', service('a', 12))),
    );
    await rig.server.listen(port);
    await rig.calls(1);
    expect(rig.sink.take()).toEqual(['delete ns/a']);
    expect(query(rig.server.requests[1])).toMatchObject({ resourceVersion: '10', watch: 'true' });
    expect(before).toBe(2);
    expect(opened).toBeDefined();
  });

  test('a watch cut within a frame goes on from the last whole event', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [], answer, list([], { resourceVersion: '20' }), watch());
    rig.start();
    await rig.requests(2);
    opened().send('ADDED', service('a', 11)).cut();
    await rig.requests(4);
    expect(rig.sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(query(rig.server.requests[3])).toMatchObject({ resourceVersion: '11' });
  });

  test.each([
    ['of a size beyond all limits', '7fffffff'],
    ['whose content is cut short', '000000020a05'],
    ['with a varint without end', '0000000bffffffffffffffffffffff'],
  ])('a frame %s leads to a new list', async (_, hex) => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(10, [], answer, list([service('a', 11)], { resourceVersion: '20' }), watch());
    rig.start();
    await rig.requests(2);
    opened().response.write(Buffer.from(hex, 'hex'));
    await rig.requests(4);
    expect(rig.sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(rig.server.requests[2]!.query.has('watch')).toBe(false);
  });

  test('silence: the watch is cut and taken up again', async () => {
    const { answer, opened } = openWatch();
    rig.listThenWatch(
      10,
      [],
      answer,
      list([], { resourceVersion: '10' }),
      watch((again) => again.send('ADDED', service('a', 11))),
    );
    rig.start({ silenceMs: 2000 }, 20); // 100 ms
    await rig.requests(2);
    const closed = new Promise((resolve) => opened().response.on('close', resolve));
    opened().bookmark(10);
    await rig.calls(2);
    await closed;
    expect(rig.sink.calls).toEqual(['synced', 'set ns/a@11']);
    expect(query(rig.server.requests[2])).toMatchObject({ resourceVersionMatch: 'NotOlderThan' });
    expect(rig.warnings).toContain('The API server has gone silent');
  });

  test('silence without any bookmark before it may be a server on which nothing happens: no warning, no longer delays', async () => {
    const page = list([], { resourceVersion: '10' });
    rig.listThenWatch(10, [], watch(), page, watch(), page, watch(), page, watch());
    rig.start({ silenceMs: 20_000 }, 200); // 100 ms
    await rig.requests(8);
    expect(rig.warnings).toEqual([]);
    expect(rig.clock.delays.filter((delay) => delay === 800)).toHaveLength(3);
    expect(rig.clock.delays.filter((delay) => [1600, 3200, 6400].includes(delay))).toEqual([]);
  });

  test('a load balancer that cuts idle watches does not make us wait longer each time', async () => {
    const page = list([], { resourceVersion: '10' });
    const idle = watch((opened) => setTimeout(() => opened.cut(), 100)); // 20 s
    rig.listThenWatch(10, [], idle, page, idle, page, idle, page, watch());
    rig.start({}, 200);
    await rig.requests(8);
    expect(rig.clock.delays.filter((delay) => delay === 800)).toHaveLength(3);
    expect(rig.clock.delays.filter((delay) => [1600, 3200, 6400].includes(delay))).toEqual([]);
  });

  test('a server that never answers is given up', async () => {
    rig.server.answer(() => {}, list([], { resourceVersion: '1' }), watch());
    rig.start({}, 100, 10_000); // 100 ms
    await rig.requests(3);
    expect(rig.sink.calls).toEqual(['synced']);
    expect(rig.warnings).toContain('The API server has gone silent');
  });

  test.each([
    [429, 'TooManyRequests'],
    [503, 'ServiceUnavailable'],
  ])('%i with Retry-After', async (code, reason) => {
    rig.server.answer(
      refusal(code, reason, { headers: { 'retry-after': '7' } }),
      list([], { resourceVersion: '1' }),
      watch(),
    );
    rig.start({}, 200);
    await rig.requests(3);
    expect(rig.clock.delays).toContain(7000);
    expect(rig.sink.calls).toEqual(['synced']);
  });

  test('Retry-After beyond all reason is five minutes', async () => {
    rig.server.answer(
      refusal(503, 'ServiceUnavailable', { headers: { 'retry-after': '99999999999' } }),
      list([], { resourceVersion: '1' }),
      watch(),
    );
    rig.start({}, 1000);
    await rig.requests(3);
    expect(rig.clock.delays).toContain(300_000);
    expect(Math.max(...rig.clock.delays)).toBeLessThan(2 ** 31);
  });

  test.each([
    [401, 'Unauthorized', /do(es)? not accept our credentials \(401\)/],
    [403, 'Forbidden', /lack a permission \(403\)/],
    [500, 'InternalError', /refused a request/],
  ])('%i is logged plainly and retried', async (code, reason, message) => {
    rig.server.answer(refusal(code, reason), list([], { resourceVersion: '1' }), watch());
    rig.start({}, 200);
    await rig.requests(3);
    expect(rig.warnings).toEqual([expect.stringMatching(message)]);
    expect(rig.sink.calls).toEqual(['synced']);
  });

  test('a watch refused with 5xx: the server is first asked how far it is, as it may be a restored one', async () => {
    rig.listThenWatch(
      10,
      [],
      refusal(503, 'ServiceUnavailable'),
      list([], { resourceVersion: '10' }),
      watch(),
    );
    rig.start();
    await rig.requests(4);
    expect(query(rig.server.requests[2])).toMatchObject({ limit: '1', resourceVersion: '10' });
  });

  test.each([406, 415])('%i: asks for JSON from then on', async (code) => {
    const event = { type: 'ADDED', object: service('b', 11) };
    rig.server.answer(
      refusal(code, 'NotAcceptable'),
      jsonList([service('a', 1)], { resourceVersion: '9' }),
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(`${JSON.stringify(event)}\n`);
      },
    );
    rig.start();
    await rig.calls(3);
    expect(rig.sink.calls).toEqual(['set ns/a@1', 'synced', 'set ns/b@11']);
    expect(rig.server.requests.map(({ headers }) => headers.accept)).toEqual([
      'application/vnd.kubernetes.protobuf',
      'application/json',
      'application/json',
    ]);
  });

  test('a watch that ends at once, again and again, is not hammered', async () => {
    rig.listThenWatch(
      10,
      [],
      watch((opened) => opened.end()),
      list([], { resourceVersion: '10' }),
      watch((opened) => opened.end()),
      list([], { resourceVersion: '10' }),
      watch(),
    );
    rig.start();
    await rig.requests(6);
    expect(rig.clock.delays.filter((delay) => delay === 800 || delay === 1600)).toEqual([800, 1600]);
  });
});

describe('stopping', () => {
  test('ends an open watch and a pending delay', async () => {
    const { answer } = openWatch();
    rig.listThenWatch(10, [], answer);
    rig.start();
    await rig.requests(2);
    await rig.stop();
    await waitUntil(() => rig.server.connections === 0, 'the connection is closed');
    rig.server.answer(refusal(503, 'ServiceUnavailable', { headers: { 'retry-after': '3600' } }));
    rig.start();
    await rig.requests(3);
    await rig.stop();
    expect(rig.server.requests.length).toBe(3);
  });
});
