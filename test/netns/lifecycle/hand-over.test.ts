import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nftTable } from './nft-table.ts';
import { NodeBed } from './node-bed.ts';
import { disturbances, shop, shopNftables, shopTraffic, WEB, writeShopIptables } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

describe.each(['nftables', 'iptables'] as const)('%s', (mode) => {
  test.each(['SIGTERM', 'SIGKILL'] as const)('a new start after %s disturbs nobody', async (signal) => {
    await bed.api.apply(...shop());
    const first = bed.start(mode);
    await bed.synced(first);
    await bed.answersSoon(first, `${WEB}:80`);
    const traffic = await bed.traffic(shopTraffic);
    await first.end(signal);
    await delay(200);
    const second = bed.start(mode);
    await bed.synced(second);
    await delay(500);
    expect(disturbances(await traffic.stop())).toEqual([]);
    expect(second.exit).toBeUndefined();
  });
});

test('two proxies on one node, as while a DaemonSet is rolled out with a surge, do not chase each other', async () => {
  await bed.api.apply(...shop());
  const first = bed.start('nftables');
  await bed.synced(first);
  const traffic = await bed.traffic(shopTraffic);
  const second = bed.start('nftables');
  await waitUntil('one has noticed', () => [first, second].some((proxy) => /another proxy/.test(proxy.log)));
  const lines = first.lines(/./).length + second.lines(/./).length;
  await delay(2000);
  // The other one may have some of its repairs left; a chase would be hundreds of lines. The ports of the first one are
  // busy until it ends, which is logged.
  expect(first.lines(/./).length + second.lines(/./).length - lines).toBeLessThan(60);
  expect(second.lines(/^E.*(10256|10249)/).length).toBeGreaterThan(0);
  await first.end();
  await bed.synced(second);
  await delay(300);
  expect(disturbances(await traffic.stop())).toEqual([]);
});

describe("from kube-proxy's own rules", () => {
  test('nftables mode takes over the table, clients with affinity included', async () => {
    await bed.api.apply(...shop());
    const stuckTo = '10.244.1.13';
    await bed.run(['nft', '-f', '-'], shopNftables(stuckTo));
    const traffic = await bed.traffic(shopTraffic);
    await delay(200);
    const proxy = bed.start('nftables');
    await bed.synced(proxy);
    await delay(1500);
    const reports = await traffic.stop();
    expect(disturbances(reports)).toEqual([]);
    expect(Object.keys(reports['sticky']!.servers)).toEqual([`${stuckTo}:8080`]);
    const taken = await tables();
    await bed.endProxies();
    await bed.run(['nft', 'flush', 'ruleset']);
    await bed.synced(bed.start('nftables'));
    expect(taken).toEqual(await tables());
  });

  test.each(['nft', 'legacy'] as const)('iptables mode takes over the chains (%s)', async (backend) => {
    await bed.api.apply(...shop());
    await writeShopIptables(bed, backend);
    const traffic = await bed.traffic(shopTraffic);
    await delay(200);
    const proxy = bed.start('iptables', { env: bed.environment(backend) });
    await bed.synced(proxy);
    await delay(1000);
    expect(disturbances(await traffic.stop())).toEqual([]);
  });

  async function tables(): Promise<unknown> {
    return { ip: await nftTable(bed, 'ip'), ip6: await nftTable(bed, 'ip6') };
  }
});
