import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../base/logger.ts';
import { ApiClient } from './api-client.ts';
import { CredentialProvider } from './credentials.ts';
import type { ApiEvent } from './event.ts';
import { EventPoster } from './event-poster.ts';
import { refusal } from './testing/answers.ts';
import { FastClock } from './testing/fast-clock.ts';
import { type Answer, ScriptedServer } from './testing/scripted-server.ts';

const created: Answer = (response) =>
  response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
const starting: ApiEvent = {
  type: 'Normal',
  reason: 'Starting',
  action: 'StartKubeProxy',
  note: '',
  regarding: { kind: 'Node', name: 'node1', namespace: '' },
};

let server: ScriptedServer;
let clock: FastClock;
let poster: EventPoster;
let client: ApiClient;

beforeEach(async () => {
  server = new ScriptedServer();
  server.answer(created);
  await server.listen();
  clock = new FastClock(2000);
  const env = {};
  const credentials = new CredentialProvider(
    { kubeconfig: '', master: server.url },
    { clock, logger: silentLogger, env },
  );
  client = new ApiClient(
    { version: 'test', qps: -1, burst: 1, answerTimeoutMs: 10_000_000 },
    { credentials, clock, env },
  );
  poster = new EventPoster(client, 'kube-proxy-host', clock, silentLogger);
});
afterEach(async () => {
  poster.close();
  client.close();
  await server.close();
});

test('an event of a Node goes to the namespace default', async () => {
  poster.post(starting);
  await poster.flushed();
  const { method, path, headers, body } = server.requests[0]!;
  expect([method, path, headers['content-type']]).toEqual([
    'POST',
    '/apis/events.k8s.io/v1/namespaces/default/events',
    'application/json',
  ]);
  expect(JSON.parse(body)).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: expect.stringMatching(/^node1\.[0-9a-f]{16}$/), namespace: 'default' },
    eventTime: expect.stringMatching(/^2027-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    reportingController: 'kube-proxy',
    reportingInstance: 'kube-proxy-host',
    type: 'Normal',
    reason: 'Starting',
    action: 'StartKubeProxy',
    note: '',
    regarding: { apiVersion: 'v1', kind: 'Node', name: 'node1' },
  });
});

test('repeats become a series of the first event, told now and then, until there are none for six minutes', async () => {
  const service: ApiEvent = {
    ...starting,
    type: 'Warning',
    regarding: { kind: 'Service', name: 'web', namespace: 'ns', uid: 'u' },
  };
  // The time between two events is what counts here: it passes by itself as slowly as anywhere.
  const slow = new FastClock(1);
  poster = new EventPoster(client, 'kube-proxy-host', slow, silentLogger);
  for (let i = 0; i < 50; i++) poster.post(service);
  poster.post(starting);
  await poster.flushed();
  slow.skip(5 * 60_000);
  poster.post(service);
  await poster.flushed();
  slow.skip(7 * 60_000);
  poster.post(service);
  await poster.flushed();
  expect(server.requests).toHaveLength(5);
  const [first, second, other, third, again] = server.requests;
  const { name } = JSON.parse(first!.body).metadata;
  expect(first).toMatchObject({ method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/ns/events' });
  expect(JSON.parse(first!.body).regarding).toEqual({
    apiVersion: 'v1',
    kind: 'Service',
    namespace: 'ns',
    name: 'web',
    uid: 'u',
  });
  expect(second).toMatchObject({
    method: 'PATCH',
    path: `/apis/events.k8s.io/v1/namespaces/ns/events/${name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  expect(JSON.parse(second!.body)).toEqual({
    series: { count: 2, lastObservedTime: expect.stringMatching(/\.\d{6}Z$/) },
  });
  expect(JSON.parse(third!.body).series.count).toBe(51);
  expect([other!.method, again!.method]).toEqual(['POST', 'POST']);
});

test('an event that was deleted meanwhile begins anew', async () => {
  server.answer(created, refusal(404, 'NotFound'), created);
  poster.post(starting);
  poster.post(starting);
  poster.post(starting);
  await poster.flushed();
  expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST', 'PATCH']);
});

test('a server that is away is asked again, a refusal is final', async () => {
  server.answer(refusal(503, 'x'), refusal(429, 'x'), created, refusal(403, 'Forbidden'), created);
  poster.post(starting);
  poster.post({ ...starting, reason: 'Second' });
  poster.post({ ...starting, reason: 'Third' });
  await poster.flushed();
  expect(server.requests.map(({ body }) => JSON.parse(body).reason)).toEqual([
    'Starting',
    'Starting',
    'Starting',
    'Second',
    'Third',
  ]);
});

test('gives up after twelve attempts, and at once when closed', async () => {
  server.answer(refusal(500, 'x'));
  poster.post(starting);
  await poster.flushed();
  expect(server.requests.length).toBe(12);
  poster.post(starting);
  poster.close();
  await poster.flushed();
  poster.post(starting);
  await poster.flushed();
  expect(server.requests.length).toBeLessThanOrEqual(13);
});

test('a flood is dropped, not stored', async () => {
  server.answer((response, request) => setTimeout(() => created(response, request), 1));
  for (let i = 0; i < 1000; i++) poster.post({ ...starting, reason: String(i) });
  await poster.flushed();
  expect(server.requests.length).toBe(100);
});
