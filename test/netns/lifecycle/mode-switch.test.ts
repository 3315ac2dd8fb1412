import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ownIptablesLines } from './iptables-lines.ts';
import { nftNames } from './nft-table.ts';
import { NodeBed } from './node-bed.ts';
import { disturbances, shop, shopNftables, shopTraffic, WEB, writeShopIptables } from './shop.ts';
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

describe('two back-ends of iptables (C100)', () => {
  test('the one that kubelet uses is written to; rules of ours in the other one go', async () => {
    await bed.api.apply(...shop());
    const hint = '*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n';
    const lock = ['env', `XTABLES_LOCKFILE=${bed.lockFile}`];
    await bed.run([...lock, 'iptables-legacy-restore', '--noflush'], hint);
    await bed.run([...lock, 'ip6tables-legacy-restore', '--noflush'], hint);
    await writeShopIptables(bed, 'nft');
    const traffic = await bed.traffic(shopTraffic);
    const proxy = bed.start('iptables', { env: bed.environment('nft') });
    await bed.synced(proxy);
    const inNft = async () =>
      (await ownIptablesLines(bed, 'nft')).filter((line) => !line.includes('KUBE-FIREWALL'));
    await waitUntil(
      'nothing of ours is left in the other back-end',
      async () => (await inNft()).length === 0,
    );
    await delay(300);
    const { sticky, ...others } = await traffic.stop();
    expect(disturbances(others)).toEqual([]);
    expect(sticky!.failures).toEqual([]);
    expect(proxy.lines(/Using iptables.*backend="legacy" because="kubelet uses it"/)).toHaveLength(2);
    expect(proxy.lines(/^W.*Another back-end holds rules.*backend="nft"/)).toHaveLength(2);
    expect((await ownIptablesLines(bed, 'legacy')).join()).toContain('KUBE-SVC-');
  });

  test('rules of the old mode go even when somebody holds the lock of iptables for long', async () => {
    await bed.api.apply(...shop());
    await writeShopIptables(bed, 'legacy');
    const holder = spawn('flock', [bed.lockFile, 'sleep', '8'], { stdio: 'ignore' });
    const proxy = bed.start('nftables', { env: bed.environment('legacy') });
    await bed.synced(proxy);
    await waitUntil(
      'nothing is left of iptables mode',
      async () => (await ownIptablesLines(bed, 'legacy')).every((line) => line.includes('KUBE-FIREWALL')),
      30_000,
    );
    if (holder.exitCode === null) await once(holder, 'exit');
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
  });
});
