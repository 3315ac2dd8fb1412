import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ownIptablesLines } from './iptables-lines.ts';
import { nftNames } from './nft-table.ts';
import { NodeBed } from './node-bed.ts';
import { disturbances, shop, shopNftables, shopTraffic, writeShopIptables } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

describe.each(['nft', 'legacy'] as const)('iptables on the back-end %s', (backend) => {
  test("kube-proxy's iptables, ours, nftables, iptables again: no request fails, nothing is left", async () => {
    await bed.api.apply(...shop());
    await writeShopIptables(bed, backend);
    const env = bed.environment(backend);
    const traffic = await bed.traffic(shopTraffic);
    const took: Record<string, number> = {};
    for (const mode of ['iptables', 'nftables', 'iptables'] as const) {
      const proxy = bed.start(mode, { env });
      await bed.synced(proxy);
      took[mode] = await waitUntil(
        `nothing is left of the other modes in ${mode} mode`,
        async () => (await leftovers(mode)).length === 0,
        5000,
      ).catch(async (error) => expect.fail(`${error}: ${await leftovers(mode)}\n${proxy.log}`));
      await delay(300);
      expect(await proxy.end()).toMatchObject({ code: 0 });
    }
    const reports = await traffic.stop();
    // iptables remembers clients in a place that nftables does not read, and the other way round.
    const { sticky, ...others } = reports;
    expect(disturbances(others)).toEqual([]);
    expect(sticky!.failures).toEqual([]);
  });

  async function leftovers(mode: 'iptables' | 'nftables'): Promise<string[]> {
    if (mode === 'iptables') return (await nftNames(bed)).filter((name) => name.includes('kube-proxy'));
    return (await ownIptablesLines(bed, backend)).filter((line) => !line.includes('KUBE-FIREWALL'));
  }
});

test("kube-proxy's nftables mode to our iptables mode: no request fails, no table is left", async () => {
  await bed.api.apply(...shop());
  await bed.run(['nft', '-f', '-'], shopNftables());
  const traffic = await bed.traffic(shopTraffic);
  const proxy = bed.start('iptables', { env: bed.environment('nft') });
  await bed.synced(proxy);
  await waitUntil('the tables are gone', async () =>
    (await nftNames(bed)).every((name) => !name.includes('kube-proxy')),
  );
  await delay(300);
  const { sticky, ...others } = await traffic.stop();
  expect(disturbances(others)).toEqual([]);
  expect(sticky!.failures).toEqual([]);
});
