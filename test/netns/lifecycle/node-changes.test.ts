import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NodeBed } from './node-bed.ts';
import { node, service, serviceCIDR, slice } from './objects.ts';
import { shop, WEB, WEB_NODE_PORT } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

const withoutNode = () => shop().filter(({ kind }) => kind !== 'Node');
const atOnce = 10_000;

describe('the Node', () => {
  test('gets its addresses late: the proxy waits, then node ports are on them', async () => {
    // As a cloud's kubelet registers it: its name is there at once, its addresses are for the cloud to tell.
    const nameOnly = { addresses: [{ type: 'Hostname', address: 'node1' }] };
    await bed.api.apply(...withoutNode(), { ...node(), status: nameOnly });
    const proxy = bed.start('nftables');
    await delay(2500);
    expect(await bed.answers(`${WEB}:80`)).toBe(false);
    await bed.api.apply(node());
    await bed.answersSoon(proxy, `${WEB}:80`);
    await bed.answersSoon(proxy, `172.31.0.11:${WEB_NODE_PORT}`);
    // `primary`, the default in this mode: other addresses of the node take no node ports.
    expect(await bed.answers(`10.244.1.1:${WEB_NODE_PORT}`, 'pod-a')).toBe(false);
  });

  test('appears late', async () => {
    await bed.api.apply(...withoutNode());
    const proxy = bed.start('nftables');
    await delay(2000);
    await bed.api.apply(node());
    await bed.answersSoon(proxy, `172.31.0.11:${WEB_NODE_PORT}`);
  });

  test('mode NodeCIDR waits for the pod CIDRs, and ends when they change', async () => {
    await bed.api.apply(...withoutNode(), node({ podCIDRs: [] }));
    const proxy = bed.start('nftables', { config: { detectLocalMode: 'NodeCIDR', clusterCIDR: '' } });
    await delay(2500);
    expect(proxy.exit).toBeUndefined();
    expect(await bed.answers(`${WEB}:80`)).toBe(false);
    await bed.api.apply(node());
    await bed.answersSoon(proxy, `${WEB}:80`);
    await bed.api.apply(node({ labels: { other: 'label' } }));
    await delay(300);
    expect(proxy.exit).toBeUndefined();
    await bed.api.apply(node({ podCIDRs: ['10.244.7.0/24', 'fd00:244:7::/64'] }));
    expect(await Promise.race([proxy.exited, delay(atOnce)])).toEqual({ code: 1, signal: null });
    expect(proxy.lines(/^E.*10\.244\.7\.0\/24/)).toHaveLength(1);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
  });

  test('other modes go on when pod CIDRs, addresses or the object itself go', async () => {
    await bed.api.apply(...shop());
    const proxy = bed.start('nftables');
    await bed.answersSoon(proxy, `${WEB}:80`);
    expect(proxy.log).not.toContain('from the next start on');
    await bed.api.apply(node({ podCIDRs: ['10.244.7.0/24'], addresses: ['172.31.0.99'] }));
    await bed.api.apply(node({ addresses: ['172.31.0.99'], labels: { other: 'label' } }));
    const told = () => proxy.lines(/^W.*from the next start on.*172\.31\.0\.99/);
    await waitUntil('the other address is noticed', () => told().length > 0);
    await bed.api.delete('Node', 'node1');
    await delay(500);
    expect(proxy.exit).toBeUndefined();
    expect(told()).toHaveLength(1);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect((await bed.page(10256, '/healthz'))?.status).toBe(200);
  });

  test('moves to another zone: topology hints follow at once', async () => {
    const zoned = slice('zoned', ['10.244.1.2', '10.244.1.3']);
    const endpoints = (zoned['endpoints'] as object[]).map((endpoint, index) => ({
      ...endpoint,
      hints: { forZones: [{ name: index === 0 ? 'a' : 'b' }] },
    }));
    const zone = (name: string) => node({ labels: { 'topology.kubernetes.io/zone': name } });
    const objects = [service('zoned', '10.96.0.60'), { ...zoned, endpoints }, zone('a')];
    await bed.api.apply(...withoutNode(), ...objects);
    const proxy = bed.start('nftables');
    await bed.answersSoon(proxy, '10.96.0.60:80');
    const servers = async () => {
      const outcomes = await bed.testbed.probe({ from: 'client', to: '10.96.0.60:80', count: 20 });
      return [...new Set(outcomes.map((each) => ('server' in each ? each.server : 'failure')))].sort();
    };
    expect(await servers()).toEqual(['10.244.1.2:8080']);
    await bed.api.apply(zone('b'));
    const took = await waitUntil('zone b', async () => (await servers()).join() === '10.244.1.3:8080');
    expect(took).toBeLessThan(atOnce);
    await bed.api.apply(node());
    await waitUntil('no zone', async () => (await servers()).length === 2);
  });

  test('an address that the node gets later takes node ports at once where its network is chosen', async () => {
    await bed.api.apply(...shop());
    const proxy = bed.start('nftables', { config: { nodePortAddresses: ['172.31.0.0/16'] } });
    await bed.answersSoon(proxy, `172.31.0.11:${WEB_NODE_PORT}`);
    await bed.run(['ip', 'address', 'add', '172.31.0.12/24', 'dev', 'eth0']);
    const took = await bed.answersSoon(proxy, `172.31.0.12:${WEB_NODE_PORT}`);
    expect(took).toBeLessThan(atOnce);
    await bed.run(['ip', 'address', 'delete', '172.31.0.12/24', 'dev', 'eth0']);
  });
});

test('a new ServiceCIDR counts at once: unallocated addresses in it are dropped', async () => {
  await bed.api.apply(...shop());
  const proxy = bed.start('nftables');
  await bed.answersSoon(proxy, `${WEB}:80`);
  const dropped = async () =>
    (await bed.run(['nft', 'list', 'chain', 'ip', 'kube-proxy', 'cluster-ips-check'])).match(
      /ip daddr (\{[^}]*\}|\S+) drop/,
    )?.[1];
  expect(await dropped()).toBe('10.96.0.0/16');
  await bed.api.apply(serviceCIDR('more', ['10.98.0.0/24']));
  const took = await waitUntil(
    '10.98.0.0/24',
    async () => (await dropped())?.includes('10.98.0.0/24') === true,
  );
  expect(took).toBeLessThan(atOnce);
  await bed.api.delete('ServiceCIDR', 'more', '');
  await waitUntil('it is gone again', async () => (await dropped()) === '10.96.0.0/16');
  expect(await bed.answers(`${WEB}:80`)).toBe(true);
});

describe('the configuration file', () => {
  test('written in place ends the proxy with status 1, rules stay', async () => {
    await bed.api.apply(...shop());
    const proxy = bed.start('nftables');
    await bed.answersSoon(proxy, `${WEB}:80`);
    appendFileSync(join(bed.directory, 'config.yaml'), '# changed\n');
    expect(await Promise.race([proxy.exited, delay(atOnce)])).toEqual({ code: 1, signal: null });
    expect(proxy.lines(/^E.*configuration file/)).toHaveLength(1);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
  });

  test('replaced by renaming changes nothing', async () => {
    await bed.api.apply(...shop());
    const proxy = bed.start('nftables');
    await bed.answersSoon(proxy, `${WEB}:80`);
    writeFileSync(join(bed.directory, 'new.yaml'), 'mode: nonsense\n');
    renameSync(join(bed.directory, 'new.yaml'), join(bed.directory, 'config.yaml'));
    await delay(1000);
    expect(proxy.exit).toBeUndefined();
  });
});

describe('health (C36)', () => {
  test('/healthz tells whether the node should get traffic, /livez whether the proxy works', async () => {
    const policy = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_100 };
    const local = service('local', '10.96.0.62', { nodePort: 32_101, spec: policy });
    await bed.api.apply(...shop(), local, slice('local', ['10.244.1.2']));
    const proxy = bed.start('nftables', {
      config: { nftables: { minSyncPeriod: '10ms', syncPeriod: '1s' } },
    });
    await bed.synced(proxy);
    // What a load balancer outside asks for this Service: its answer is about endpoints, not about the node.
    const check = { from: 'client', to: '172.31.0.11:32100', proto: 'http', path: '/any' } as const;
    const checkLocal = () => bed.probe({ ...check, timeoutMilliseconds: 10_000 });
    const serves = { status: 200, body: { localEndpoints: 1, serviceProxyHealthy: true } };
    await waitUntil('the health check port answers', async () => 'status' in (await checkLocal()));
    expect(await checkLocal()).toMatchObject(serves);
    const now = Date.now();
    const healthz = await bed.page(10256, '/healthz');
    expect(healthz).toMatchObject({
      status: 200,
      body: {
        nodeEligible: true,
        healthy: true,
        status: { IPv4: { healthy: true }, IPv6: { healthy: true } },
      },
    });
    const { lastUpdated, currentTime } = healthz!.body as { lastUpdated: string; currentTime: string };
    expect(lastUpdated).toBe(currentTime);
    expect(Math.abs(Date.parse(currentTime) - now)).toBeLessThan(5000);
    expect((await bed.page(10256, '/livez'))?.body).not.toHaveProperty('nodeEligible');
    expect(await bed.page(10256, '/other')).toMatchObject({ status: 404 });

    const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' };
    for (const leaving of [
      node({ spec: { taints: [taint] } }),
      node({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    ]) {
      await bed.api.apply(leaving);
      await waitUntil('/healthz is 503', async () => (await bed.page(10256, '/healthz'))?.status === 503);
      expect((await bed.page(10256, '/healthz'))?.body).toMatchObject({ healthy: true, nodeEligible: false });
      expect((await bed.page(10256, '/livez'))?.status).toBe(200);
      expect(await checkLocal()).toMatchObject(serves);
      await bed.api.apply(node());
      await waitUntil('/healthz is 200', async () => (await bed.page(10256, '/healthz'))?.status === 200);
    }
  });

  test('both are 503 while changes cannot be brought into the kernel, and 200 afterwards', async () => {
    await bed.api.apply(...shop());
    const env = bed.environment('legacy');
    const config = { iptables: { minSyncPeriod: '10ms', syncPeriod: '1s' } };
    const proxy = bed.start('iptables', { env, config });
    await bed.synced(proxy);
    // A program that fails stands for a kernel that refuses.
    const restore = join(bed.directory, 'bin-legacy', 'iptables-restore');
    renameSync(restore, `${restore}.away`);
    writeFileSync(restore, '#!/bin/sh\necho refused >&2\nexit 1\n', { mode: 0o755 });
    await bed.api.apply(service('later', '10.96.0.61'), slice('later', ['10.244.1.2']));
    await waitUntil('/livez is 503', async () => (await bed.page(10256, '/livez'))?.status === 503);
    expect(await bed.page(10256, '/healthz')).toMatchObject({
      status: 503,
      body: { healthy: false, status: { IPv4: { healthy: false } } },
    });
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    renameSync(`${restore}.away`, restore);
    await waitUntil('/healthz is 200', async () => (await bed.page(10256, '/healthz'))?.status === 200);
    expect(await bed.answers('10.96.0.61:80')).toBe(true);
  });
});
