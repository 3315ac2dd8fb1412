import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { disturbances, shop, shopTraffic, WEB } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
let proxy: ProxyProcess;
beforeAll(async () => {
  bed = await NodeBed.create();
  await bed.api.apply(...shop());
  proxy = bed.start('nftables');
  await bed.answersSoon(proxy, `${WEB}:80`);
});
afterAll(() => bed.close());

/** Each test has a Service that goes and one that comes, with addresses of its own. */
let count = 0;
let [OLD, NEW] = ['', ''];
beforeEach(async () => {
  [OLD, NEW] = [`10.96.1.${++count}`, `10.96.2.${count}`];
  await bed.api.apply(service('old', OLD), slice('old', ['10.244.1.2']));
  await bed.api.delete('Service', 'new');
  await bed.answersSoon(proxy, `${OLD}:80`, 40_000);
});

/** While the API server is in trouble one Service is added and one deleted; within `milliseconds` of the end of it both have to be in force. */
const troubles: Record<
  string,
  { begin: () => Promise<unknown>; end: () => Promise<unknown>; milliseconds: number; log?: RegExp }
> = {
  'the server restarts': {
    begin: () => bed.api.control('POST /listener/stop'),
    end: () => bed.api.control('POST /listener/start'),
    milliseconds: 10_000,
    log: /^W.*The connection to the API server failed/,
  },
  'the server is away and has forgotten its history': {
    begin: () => bed.api.control('POST /listener/stop'),
    end: async () => {
      await bed.api.control('POST /history/expire');
      await bed.api.control('POST /listener/start');
    },
    milliseconds: 12_000,
  },
  'watches end with 410 Gone': {
    begin: () => bed.api.control('POST /watches/hold'),
    end: () => bed.api.control('POST /history/expire', { openWatches: true }).then(release),
    milliseconds: 10_000,
  },
  'watches are cut in the middle of a frame': {
    begin: () => bed.api.control('POST /watches/hold'),
    end: () => bed.api.control('POST /watches/cut', { midFrame: true }).then(release),
    milliseconds: 10_000,
  },
  'watches carry garbage': {
    begin: () => bed.api.control('POST /watches/hold'),
    end: () => bed.api.control('POST /watches/corrupt', { hex: 'ffffffffff00ff' }).then(release),
    milliseconds: 10_000,
  },
  'everything is answered with 429': {
    begin: async () => {
      const action = { kind: 'status', code: 429, retryAfterSeconds: 1 };
      await bed.api.control('POST /faults', { times: 0, action });
      await bed.api.control('POST /watches/cut');
    },
    end: () => bed.api.control('DELETE /faults'),
    milliseconds: 10_000,
    log: /^W.*The API server refused a request.*429/,
  },
  'the server takes requests and does not answer': {
    begin: async () => {
      await bed.api.control('POST /faults', { times: 0, action: { kind: 'hang' } });
      await bed.api.control('POST /watches/cut');
    },
    end: async () => {
      await bed.api.control('DELETE /faults');
      await bed.api.control('POST /listener/restart');
    },
    milliseconds: 10_000,
  },
};

test.each(Object.entries(troubles))(
  '%s: Services go on, changes arrive afterwards',
  async (_, { begin, end, milliseconds, log }) => {
    const traffic = await bed.traffic({ clusterIP: shopTraffic.clusterIP, held: shopTraffic.held });
    await begin();
    await bed.api.apply(service('new', NEW), slice('new', ['10.244.1.3']));
    await bed.api.delete('Service', 'old');
    await delay(1500);
    expect(proxy.exit).toBeUndefined();
    await end();
    await bed.answersSoon(proxy, `${NEW}:80`, milliseconds);
    await waitUntil(
      'the deleted Service is gone',
      async () => !(await bed.answers(`${OLD}:80`)),
      milliseconds,
    );
    expect(disturbances(await traffic.stop())).toEqual([]);
    if (log !== undefined)
      expect(
        proxy.log.split('\n').some((line) => log.test(line)),
        proxy.log,
      ).toBe(true);
    expect(proxy.lines(/^E/)).toEqual([]);
  },
);

test('an older state restored from a backup is taken over', async () => {
  const { resourceVersion } = (await bed.api.control('GET /')) as { resourceVersion: number };
  await bed.api.apply(service('new', NEW), slice('new', ['10.244.1.3']));
  await bed.api.delete('Service', 'old');
  await bed.answersSoon(proxy, `${NEW}:80`);
  await bed.api.control('POST /history/rewind', { resourceVersion, downMilliseconds: 300 });
  await bed.answersSoon(proxy, `${OLD}:80`, 40_000);
  await waitUntil(
    'what came after the backup is gone',
    async () => !(await bed.answers(`${NEW}:80`)),
    40_000,
  );
  expect(await bed.answers(`${WEB}:80`)).toBe(true);
});

test('a server of JSON only, without streamed lists and ServiceCIDRs, is enough', async () => {
  await proxy.end();
  await bed.api.control('POST /settings', {
    protobuf: false,
    watchList: 'refused',
    absent: ['servicecidrs'],
  });
  const second = bed.start('nftables');
  await bed.api.apply(service('new', NEW), slice('new', ['10.244.1.3']));
  await bed.answersSoon(second, `${NEW}:80`);
  expect(second.lines(/^[WE]/)).toEqual([]);
});

function release(): Promise<unknown> {
  return bed.api.control('POST /watches/release');
}
