import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { NodeBed } from './node-bed.ts';
import { node, service, slice } from './objects.ts';
import type { FlowSpec } from './traffic.ts';
import { TrafficClient } from './traffic-client.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
  // Where a node sends what is no Service, in place of a default route: into the void.
  await bed.run(['ip', 'route', 'add', VIP, 'dev', 'cbr0']);
  await bed.run([
    'ip',
    'neigh',
    'add',
    VIP,
    'lladdr',
    '02:00:00:00:00:99',
    'dev',
    'cbr0',
    'nud',
    'permanent',
  ]);
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

const VIP = '10.96.0.13';
const PORTS = [50_000, 50_001, 50_002, 50_003];
const retries = Object.fromEntries(
  PORTS.map((localPort): [string, FlowSpec] => [
    String(localPort),
    { kind: 'retry', host: VIP, port: 80, everyMilliseconds: 100, localPort },
  ]),
);
/** Far below the two minutes after which the kernel forgets a SYN, were it not sent again all the time. */
const SOON = 30_000;

/** The client's connections that the node knows, of those that nobody answered. */
async function unanswered(): Promise<string[]> {
  const listing = await bed.run(['conntrack', '-L', '-p', 'tcp', '-d', VIP]);
  return listing.split('\n').filter((line) => line.includes('SYN_SENT') && line.includes('[UNREPLIED]'));
}

test.each([
  ['nftables', 'at once'],
  ['nftables', 'without endpoints first'],
  ['iptables', 'at once'],
  ['iptables', 'without endpoints first'],
] as const)(
  '%s: a client with few source ports is served when the Service comes, %s (C18)',
  async (mode, how) => {
    await bed.api.apply(node());
    const proxy = bed.start(mode);
    await bed.synced(proxy);
    const served = TrafficClient.start(bed.testbed.fullName('client'), retries, 2 * SOON);
    served.catch(() => {});
    await waitUntil('all are tracked', async () => (await unanswered()).length === PORTS.length, SOON);
    for (const line of await unanswered()) expect(line).toContain(`src=${VIP} dst=172.31.0.50`);
    await bed.api.apply(service('web', VIP));
    if (how !== 'at once') await delay(1000);
    await bed.api.apply(slice('web', ['10.244.1.2']));
    const since = performance.now();
    const reports = await (await served).stop();
    expect(performance.now() - since).toBeLessThan(SOON);
    for (const report of Object.values(reports))
      expect(report.servers).toEqual({ '10.244.1.2:8080': expect.any(Number) });
    expect(proxy.exit).toBeUndefined();
  },
);
