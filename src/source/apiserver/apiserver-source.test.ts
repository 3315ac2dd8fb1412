import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../base/logger.ts';
import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { Node } from '../../kube/node.ts';
import type { Service } from '../../kube/service.ts';
import type { ServiceCIDR } from '../../kube/service-cidr.ts';
import { recording } from '../../kube/testing/recordings.ts';
import { ApiServerSource } from './apiserver-source.ts';
import { refusal } from './testing/answers.ts';
import { FastClock } from './testing/fast-clock.ts';
import { RecordingSink } from './testing/recording-sink.ts';
import { type Answer, type ReceivedRequest, ScriptedServer } from './testing/scripted-server.ts';
import { waitUntil } from './testing/wait-until.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
let server: ScriptedServer;
let controller: AbortController;
let running: Promise<void> | undefined;
const sinks = () => ({
  services: new RecordingSink<Service>(),
  endpointSlices: new RecordingSink<EndpointSlice>(),
  nodes: new RecordingSink<Node>(),
  serviceCIDRs: new RecordingSink<ServiceCIDR>(),
});

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  controller = new AbortController();
});
afterEach(async () => {
  controller.abort();
  await running;
  await server.close();
});

function source(into = sinks(), options: object = {}) {
  return new ApiServerSource(
    {
      kubeconfig: '',
      master: server.url,
      acceptContentTypes: '',
      contentType: protobuf,
      qps: 5,
      burst: 10,
      nodeName: 'node1',
      hostName: 'host',
      version: '0.0.1',
      ...options,
    },
    into,
    { clock: new FastClock(20), logger: silentLogger, env: {}, random: () => 0 },
  );
}

/** Plays the recorded lists; EndpointSlices by WatchList. */
const recorded: Answer = (response, request) => {
  const isWatch = request.query.has('watch');
  const file = {
    '/api/v1/services': 'services-list',
    '/apis/discovery.k8s.io/v1/endpointslices': 'endpointslices-watchlist',
    '/api/v1/nodes': 'node-list-by-name',
    '/apis/networking.k8s.io/v1/servicecidrs': 'servicecidrs-list',
  }[request.path];
  if (file === 'endpointslices-watchlist') {
    response.writeHead(200, { 'content-type': `${protobuf};stream=watch` });
    response.write(recording(`${file}.pb`));
  } else if (request.query.has('sendInitialEvents')) refusal(422, 'Invalid')(response, request);
  else if (isWatch) response.writeHead(200, { 'content-type': `${protobuf};stream=watch` }).flushHeaders();
  else response.writeHead(200, { 'content-type': protobuf }).end(recording(`${file}.pb`));
};

const first = (path: string): ReceivedRequest | undefined =>
  server.requests.find((request) => request.path === path);

describe('ApiServerSource', () => {
  test('delivers the four kinds as a real server sends them, asked for by their selectors', async () => {
    server.answer(recorded);
    const into = sinks();
    const apiserver = source(into);
    expect(apiserver.lastContact()).toBeUndefined();
    running = apiserver.start(controller.signal);
    await waitUntil(
      () => Object.values(into).every((sink) => sink.calls.includes('synced')),
      'all kinds are there',
    );
    expect([...into.services.objects.keys()]).toContain('default/lb');
    expect([...into.endpointSlices.objects.keys()].sort()).toEqual([
      'default/dns-1',
      'default/dual-6',
      'default/kubernetes',
      'default/web-abc12',
      'default/web-xyz99',
    ]);
    expect(into.nodes.objects.get('node1')?.labels).toEqual({ 'topology.kubernetes.io/zone': 'zone-a' });
    expect(into.serviceCIDRs.objects.get('kubernetes')?.cidrs).toEqual(['10.96.0.0/12', 'fd00:10:96::/108']);
    expect(apiserver.lastContact()).toBeGreaterThan(0);
    expect([...apiserver.lastContacts().keys()]).toEqual([
      'services',
      'endpointslices',
      'nodes',
      'servicecidrs',
    ]);
    const selectors = (path: string) => {
      const { query } = first(path)!;
      return [query.get('labelSelector'), query.get('fieldSelector')];
    };
    expect(selectors('/api/v1/services')).toEqual([
      '!service.kubernetes.io/service-proxy-name',
      'spec.clusterIP!=None',
    ]);
    expect(selectors('/apis/discovery.k8s.io/v1/endpointslices')).toEqual([
      '!service.kubernetes.io/headless',
      null,
    ]);
    expect(selectors('/api/v1/nodes')).toEqual([null, 'metadata.name=node1']);
    expect(selectors('/apis/networking.k8s.io/v1/servicecidrs')).toEqual([null, null]);
  });

  test('a server without ServiceCIDRs has none, and the others do not wait for it', async () => {
    server.answer((response, request) =>
      request.path.endsWith('/servicecidrs')
        ? response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found')
        : recorded(response, request),
    );
    const into = sinks();
    const apiserver = source(into);
    running = apiserver.start(controller.signal);
    await waitUntil(
      () => Object.values(into).every((sink) => sink.calls.includes('synced')),
      'all kinds are there',
    );
    expect(into.serviceCIDRs.calls).toEqual(['synced']);
    expect(apiserver.lastContact()).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests.filter(({ path }) => path.endsWith('/servicecidrs')).length).toBe(1);
  });

  test('one kind that the server refuses does not stop the others', async () => {
    server.answer((response, request) =>
      request.path.endsWith('/nodes')
        ? refusal(403, 'Forbidden')(response, request)
        : recorded(response, request),
    );
    const into = sinks();
    const apiserver = source(into);
    running = apiserver.start(controller.signal);
    const { nodes, ...others } = into;
    await waitUntil(
      () => Object.values(others).every((sink) => sink.calls.includes('synced')),
      'the others are there',
    );
    expect(nodes.calls).toEqual([]);
    expect(apiserver.lastContact()).toBeUndefined();
  });

  test('JSON where the configuration asks for it', async () => {
    server.answer((response, { path }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (path === '/api/v1/nodes')
        response.write(`{"type":"ADDED","object":{"kind":"Node","metadata":{"name":"node1"}}}\n`);
    });
    const into = sinks();
    running = source(into, { contentType: 'application/json' }).start(controller.signal);
    await waitUntil(() => into.nodes.calls.length > 0);
    expect(server.requests.every(({ headers }) => headers.accept === 'application/json')).toBe(true);
  });

  test('checkCredentials tells what is missing before anything starts', async () => {
    await expect(source(sinks(), { master: '' }).checkCredentials()).rejects.toMatchObject({
      detail: { code: 'CREDENTIALS_NOT_IN_CLUSTER' },
    });
    await source().checkCredentials();
  });

  test('postEvent writes the event to the API', async () => {
    server.answer((response) => void response.writeHead(201).end('{}'));
    const apiserver = source();
    running = apiserver.start(controller.signal);
    apiserver.postEvent({
      type: 'Normal',
      reason: 'Starting',
      action: 'StartKubeProxy',
      note: '',
      regarding: { kind: 'Node', name: 'node1', namespace: '' },
    });
    await waitUntil(() => server.requests.some(({ method }) => method === 'POST'));
    const { body } = server.requests.find(({ method }) => method === 'POST')!;
    expect(JSON.parse(body).reportingInstance).toBe('kube-proxy-host');
  });

  test('start does not stop before it is told to, and then leaves nothing open', async () => {
    server.answer(recorded);
    const into = sinks();
    let ended = false;
    running = source(into)
      .start(controller.signal)
      .then(() => {
        ended = true;
      });
    await waitUntil(() => into.services.calls.includes('synced'));
    expect(ended).toBe(false);
    controller.abort();
    await running;
    await waitUntil(() => server.connections === 0, 'all connections are closed');
  });
});
