import { afterEach, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import type { EndpointSlice } from '../../src/kube/endpoint-slice.ts';
import type { JsonObject } from '../../src/kube/json/json-fields.ts';
import { objectKey } from '../../src/kube/kind-decoder.ts';
import { endpointSliceKind, nodeKind, serviceCIDRKind, serviceKind } from '../../src/kube/kind-decoders.ts';
import type { Node } from '../../src/kube/node.ts';
import type { Service } from '../../src/kube/service.ts';
import type { ServiceCIDR } from '../../src/kube/service-cidr.ts';
import { ApiServerSource } from '../../src/source/apiserver/apiserver-source.ts';
import { FastClock } from '../../src/source/apiserver/testing/fast-clock.ts';
import { RecordingSink } from '../../src/source/apiserver/testing/recording-sink.ts';
import { waitUntil } from '../../src/source/apiserver/testing/wait-until.ts';
import { ApiServer } from './api-server.ts';
import type { FaultAction } from './fault.ts';
import { generateObjects, serviceObject } from './generate-objects.ts';

const watched = ['services', 'endpointslices', 'nodes', 'servicecidrs'];
const shape = { services: 30, endpoints: 3, nodes: 5 };
let server: ApiServer;
let stop: () => Promise<void> = async () => {};
afterEach(async () => {
  await stop();
  await server.close();
});

const newSinks = () => ({
  services: new RecordingSink<Service>(),
  endpointSlices: new RecordingSink<EndpointSlice>(),
  nodes: new RecordingSink<Node>(),
  serviceCIDRs: new RecordingSink<ServiceCIDR>(),
});

function start(
  sinks: ReturnType<typeof newSinks>,
  options: { useWatchList: boolean; accept?: string },
): void {
  // Bugs must not hide among the failures that are provoked.
  const logger: Logger = {
    ...silentLogger,
    error: (message, error) => {
      throw new Error(message, { cause: error });
    },
    with: () => logger,
  };
  const source = new ApiServerSource(
    {
      kubeconfig: '',
      master: server.url,
      acceptContentTypes: options.accept ?? '',
      contentType: 'application/vnd.kubernetes.protobuf',
      qps: -1,
      burst: 1,
      nodeName: 'node1',
      hostName: 'host',
      version: 'test',
      // In the clock's time; the server's bookmarks come every 100 real milliseconds.
      reflector: { useWatchList: options.useWatchList, pageSize: 7, silenceMs: 25_000, maxBackoffMs: 3000 },
      answerTimeoutMs: 25_000,
    },
    sinks,
    { clock: new FastClock(50), logger, env: {} },
  );
  const controller = new AbortController();
  const running = source.start(controller.signal);
  stop = async () => {
    controller.abort();
    await running;
  };
}

/** What the sinks should hold, computed from the server's objects by other code than the source's. */
function expected(): Record<string, Record<string, unknown>> {
  const objects = <T extends { namespace?: string; name: string }>(
    resource: 'services' | 'endpointslices' | 'nodes' | 'servicecidrs',
    read: (json: JsonObject) => T,
    wanted: (labels: Record<string, string>, object: T) => boolean = () => true,
  ) =>
    Object.fromEntries(
      server.store
        .list(resource)
        .map(({ object }) => ({
          labels: object.metadata.labels ?? {},
          read: read(object as unknown as JsonObject),
        }))
        .filter((entry) => wanted(entry.labels, entry.read))
        .map((entry) => [objectKey(entry.read), entry.read]),
    );
  return {
    services: objects('services', serviceKind.fromJson, (labels, { clusterIP }) => {
      return !('service.kubernetes.io/service-proxy-name' in labels) && clusterIP !== 'None';
    }),
    endpointSlices: objects('endpointslices', endpointSliceKind.fromJson, (labels) => {
      return !('service.kubernetes.io/headless' in labels);
    }),
    nodes: objects('nodes', nodeKind.fromJson, (_, { name }) => name === 'node1'),
    serviceCIDRs: objects('servicecidrs', serviceCIDRKind.fromJson),
  };
}

function held(sinks: ReturnType<typeof newSinks>): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(sinks).map(([kind, sink]) => [
      kind,
      Object.fromEntries(sink.objects as Map<string, unknown>),
    ]),
  );
}

const text = (value: unknown) =>
  JSON.stringify(value, (_, entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );

async function converged(sinks: ReturnType<typeof newSinks>, story: readonly string[]): Promise<void> {
  try {
    await waitUntil(() => text(held(sinks)) === text(expected()), 'the sinks hold what the server holds');
  } catch (error) {
    expect(held(sinks), story.join('\n')).toEqual(expected());
    throw error;
  }
}

/** A small seeded generator (mulberry32), so that a failure can be run again. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const faults: readonly FaultAction[] = [
  { kind: 'status', code: 500 },
  { kind: 'status', code: 429, retryAfterSeconds: 1 },
  { kind: 'status', code: 503 },
  { kind: 'status', code: 401 },
  { kind: 'status', code: 403 },
  { kind: 'delay', milliseconds: 20 },
  { kind: 'hang' },
  { kind: 'cut', afterBytes: 500, how: 'reset' },
  { kind: 'cut', afterBytes: 1000, how: 'close' },
  { kind: 'cut', afterBytes: 700, how: 'end' },
  { kind: 'stall', afterBytes: 800 },
  { kind: 'corrupt', atByte: 900, hex: 'ffffffffff' },
  { kind: 'expired', form: 'http' },
  { kind: 'expired', form: 'stream' },
];

test.each([
  { seed: 1, useWatchList: true },
  { seed: 2, useWatchList: true },
  { seed: 3, useWatchList: false },
  { seed: 4, useWatchList: false },
  { seed: 5, useWatchList: true, accept: 'application/json' },
  { seed: 6, useWatchList: false, accept: 'application/json' },
])(
  'whatever breaks, the sinks end up with what the server holds: %j',
  async ({ seed, ...options }) => {
    const random = seeded(seed);
    server = new ApiServer({ bookmarkIntervalMilliseconds: 100, futureVersionMilliseconds: 20 });
    server.store.load(generateObjects(shape));
    await server.listen();
    const sinks = newSinks();
    start(sinks, options);
    const story: string[] = [];
    const does = (what: string, run: () => unknown) => ({ what, run });

    const change = () => {
      const i = random(shape.services);
      const object = serviceObject(i, shape);
      const { namespace, name } = object.metadata;
      const kinds = [
        does(`delete Service ${i}`, () => server.store.delete('services', namespace, name)),
        does(`set Service ${i}`, () =>
          server.store.apply({
            ...object,
            spec: { ...(object['spec'] as object), externalIPs: [`198.51.100.${random(250)}`] },
          }),
        ),
        does(`label Service ${i}`, () => {
          const labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
          server.store.apply({ ...object, metadata: { ...object.metadata, labels } });
        }),
        does(`make Service ${i} headless`, () =>
          server.store.apply({
            ...object,
            spec: { ...(object['spec'] as object), clusterIP: 'None', clusterIPs: ['None'] },
          }),
        ),
        does('delete a slice', () => {
          const slices = server.store.list('endpointslices');
          const slice = slices[random(slices.length)]?.object.metadata;
          if (slice !== undefined) server.store.delete('endpointslices', slice.namespace, slice.name);
        }),
        does('set all slices', () => {
          for (const generated of generateObjects(shape))
            if (generated.kind === 'EndpointSlice') server.store.apply(generated);
        }),
      ];
      return kinds[random(kinds.length)]!;
    };
    const breakage = () => {
      const action = faults[random(faults.length)]!;
      const ways = [
        does('cut', () => server.cutWatches({ how: 'reset' })),
        does('cut within a frame', () => server.cutWatches({ how: 'close', midFrame: true })),
        does('end', () => server.endWatches()),
        does('stall', () => server.stallWatches()),
        does('corrupt', () => server.corruptWatches(Buffer.from('0000000a6b387300ffffffffffff', 'hex'))),
        does('expire', () => server.expireHistory()),
        does('expire open watches', () => server.expireHistory({ openWatches: true })),
        does('expire continue tokens', () => server.expireContinueTokens()),
        does('restart', () => server.restart(random(30))),
        does(`fault ${JSON.stringify(action)}`, () =>
          server.faults.add({ action, times: 1 + random(4), skip: random(3) }),
        ),
      ];
      return ways[random(ways.length)]!;
    };
    const run = async ({ what, run: act }: { what: string; run: () => unknown }) => {
      story.push(what);
      await act();
    };

    await converged(sinks, story);
    for (let round = 0; round < 12; round++) {
      for (let step = 0; step < 6; step++) {
        await run(random(2) === 0 ? change() : breakage());
        if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, random(20)));
      }
      server.faults.clear();
      await converged(sinks, story);
      if (round % 4 !== 3) continue;
      const back = 1 + random(5);
      const before = server.requests.length;
      await run(
        does(`rewind by ${back}`, () => server.rewind(server.store.resourceVersion - back, random(10))),
      );
      // History that has caught up with the old one before a client looks cannot be told from it.
      const isPresent = (url: string) =>
        !(Number(/&resourceVersion=(\d+)/.exec(url)?.[1]) > server.store.resourceVersion);
      const opened = (resource: string) =>
        server.requests
          .slice(before)
          .some(
            (request) => request.verb === 'watch' && request.resource === resource && isPresent(request.url),
          );
      await waitUntil(() => watched.every(opened), 'all watches are open again');
      await converged(sinks, story);
    }
    for (const sink of Object.values(sinks)) {
      expect(sink.calls.filter((call) => call === 'synced')).toEqual(['synced']);
    }
  },
  120_000,
);
