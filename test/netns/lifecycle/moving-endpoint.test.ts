import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NodeBed } from './node-bed.ts';
import { node, service, serviceCIDR, slice } from './objects.ts';
import { disturbances } from './shop.ts';
import type { FlowSpec } from './traffic.ts';
import { delay } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
  // In place of a default route: what has no route is not forwarded, and the rules refuse what is.
  await bed.run(['ip', 'route', 'add', '10.96.0.0/16', 'dev', 'cbr0']);
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

const WEB = '10.96.0.10';
const DNS = '10.96.0.12';
const POD = '10.244.1.2';
const SERVER = { [`${POD}:8080`]: expect.any(Number) };

/** The slices of both Services with one number, with the pod or without it. */
const slices = (number: 1 | 2, addresses: readonly string[]) => [
  slice('web', addresses, { name: `web-${number}` }),
  slice('dns', addresses, { name: `dns-${number}`, protocol: 'UDP', port: 5353 }),
];
const holding = (number: 1 | 2) => slices(number, [POD]);
const empty = (number: 1 | 2) => slices(number, []);

const traffic = {
  one: { kind: 'connect', host: WEB, port: 80, everyMilliseconds: 4 },
  other: { kind: 'connect', host: WEB, port: 80, everyMilliseconds: 4 },
  held: { kind: 'hold', host: WEB, port: 80, everyMilliseconds: 20 },
  udp: { kind: 'datagrams', host: DNS, port: 53, everyMilliseconds: 20 },
} as const satisfies Record<string, FlowSpec>;

describe.each(['nftables', 'iptables'] as const)(
  '%s: an endpoint moves from slice to slice (C73)',
  (mode) => {
    async function start() {
      await bed.api.apply(
        node(),
        serviceCIDR('kubernetes', ['10.96.0.0/16']),
        service('web', WEB),
        service('dns', DNS, { protocol: 'UDP', port: 53, targetPort: 5353 }),
        ...holding(1),
        ...empty(2),
      );
      const proxy = bed.start(mode);
      await bed.synced(proxy);
      await bed.answersSoon(proxy, `${WEB}:80`);
      return { proxy, client: await bed.traffic(traffic) };
    }

    test('first into the new one, then out of the old one, a hundred times: nobody notices', async () => {
      const { client } = await start();
      for (let round = 0; round < 50; round++) {
        for (const [from, to] of [[1, 2] as const, [2, 1] as const]) {
          await bed.api.apply(...holding(to));
          await bed.api.apply(...empty(from));
        }
      }
      await delay(300);
      const reports = await client.stop();
      expect(disturbances(reports)).toEqual([]);
      expect(reports['one']!.servers).toEqual(SERVER);
      expect(reports['one']!.sent).toBeGreaterThan(50);
    });

    test('first out of the old one: refused at the most while it is in neither, and served in the end', async () => {
      const { proxy, client } = await start();
      for (const pause of [0, 10, 0, 10, 500, 0, 10, 500]) {
        for (const [from, to] of [[1, 2] as const, [2, 1] as const]) {
          await bed.api.apply(...empty(from));
          await delay(pause);
          await bed.api.apply(...holding(to));
        }
      }
      await bed.answersSoon(proxy, `${WEB}:80`);
      await delay(300);
      const { one, other, held } = await client.stop();
      const failures = [...one!.failures, ...other!.failures];
      expect(failures.filter((failure) => !failure.startsWith('ECONNREFUSED'))).toEqual([]);
      expect(one!.servers).toEqual(SERVER);
      // What is established is nobody's to cut.
      expect(held!.failures).toEqual([]);
      expect(held!.answered).toBe(held!.sent);
    });
  },
);
