import { describe, expect, test } from 'vitest';
import { ENOENT } from '../../kernel/native/errno.ts';
import { elementText } from '../../kernel/nftables/element-text.ts';
import { isNotFound } from '../../kernel/nftables/nftables-error.ts';
import type { SetListing } from '../../kernel/nftables/table-listing.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { cleanupNftables } from './cleanup.ts';
import { TABLE } from './names.ts';
import { balanced, clusterOf, KEY, plain, pods, sticky, summary } from './testing/one-service.ts';
import { committedBy, fakeTable, fullySynced, type TestTable } from './testing/test-table.ts';
import { upstreamAddresses, upstreamEndpointBases, upstreamTable } from './testing/upstream-table.ts';

describe('full sync', () => {
  test('over an empty kernel nothing is deleted, and the report counts every object', async () => {
    const table = fakeTable(clusterOf(balanced, pods(3)));
    const report = await table.fullSync();
    expect(table.kernel.committed).toHaveLength(1);
    const [transaction] = table.kernel.committed;
    expect(new Set(transaction!.operations.map(({ verb }) => verb))).toEqual(new Set(['add']));
    expect(report).toEqual({ operations: transaction!.size });
  });

  test('the same plan twice leaves the same table', async () => {
    const table = await fullySynced(clusterOf(balanced, pods(3)));
    const before = table.describe();
    await table.fullSync();
    expect(table.describe()).toBe(before);
  });

  test('over our own older state', async () => {
    const old = await fullySynced(
      clusterOf(sticky, pods(5)).service('ns2/old', {
        ...balanced,
        loadBalancerSourceRanges: ['10.0.0.0/8'],
      }),
    );
    const table = fakeTable(clusterOf(balanced, pods(9)), old.kernel);
    await table.fullSync();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test.each([
    ['ip', 'IPv4'],
    ['ip6', 'IPv6'],
  ] as const)('over the table of kube-proxy, %s', async (family, ipFamily) => {
    const { clusterIP, endpoint, client } = upstreamAddresses(family);
    const cluster = new TestCluster({ family: ipFamily, localTraffic: { kind: 'none' }, serviceCIDRs: [] })
      .service(KEY, { ...sticky, type: 'NodePort', clusterIP, ports: [{ name: 'p80', nodePort: 3001 }] })
      .slice(KEY, { p80: '80' }, [endpoint(1), endpoint(2)]);
    const table = fakeTable(cluster);
    table.kernel.commit(upstreamTable(family));
    await table.fullSync();
    const remembered = `\t\telements = {\n\t\t\t${client},\n\t\t}\n`;
    expect(table.describe()).toContain(remembered);
    const fresh = (await fullySynced(cluster)).describe();
    expect(fresh).not.toContain(remembered);
    expect(table.describe().replace(remembered, '')).toBe(fresh);
    // Base chains stay where they are hooked in: there is no moment without rules.
    expect(summary(table.kernel.committed.slice(1))).not.toHaveProperty('delete chain nat-prerouting');
  });

  test('clients are forgotten with their endpoint only', async () => {
    const { endpoint, client } = upstreamAddresses('ip');
    const table = fakeTable(clusterOf(sticky, [endpoint(1)]));
    table.kernel.commit(upstreamTable('ip'));
    await table.fullSync();
    const [first, second] = upstreamEndpointBases.ip;
    expect(table.listing().sets.get(`affinity-${first}`)?.rows?.count).toBe(1);
    expect(table.listing().sets.has(`affinity-${second}`)).toBe(false);
    table.cluster.slice(KEY, { p80: '80' }, [endpoint(2)]);
    await table.fullSync();
    expect(table.describe()).not.toContain(client);
  });

  test('takes over another affinity timeout and keeps the clients', async () => {
    const { endpoint, client } = upstreamAddresses('ip');
    const table = fakeTable(clusterOf({ ...sticky, affinityTimeoutSeconds: 60 }, [endpoint(1), endpoint(2)]));
    table.kernel.commit(upstreamTable('ip'));
    await table.fullSync();
    expect(table.describe()).toMatch(new RegExp(`timeout 1m\\n\\t\\telements = {\\n\\t\\t\\t${client}`));
  });
});

describe('node port addresses', () => {
  const addresses = async (cluster: TestCluster) => {
    const listed = (await fullySynced(cluster)).listing().sets.get('nodeport-ips');
    return listed && describeElements(listed);
  };
  const describeElements = ({ set, rows }: SetListing) =>
    Array.from({ length: rows!.count }, (_, row) => elementText(set, rows!, row));

  test('are in a set of their own, loopback addresses left out (spec A13)', async () => {
    const v4 = new TestCluster({
      nodePortAddresses: ['127.0.0.1', '127.1.2.3', '192.168.0.2', '192.168.1.2'],
    });
    expect(await addresses(v4)).toEqual(['192.168.0.2', '192.168.1.2']);
    const v6 = new TestCluster({
      family: 'IPv6',
      localTraffic: { kind: 'none' },
      serviceCIDRs: [],
      nodePortAddresses: ['::1', '2001:db8::2'],
    });
    expect(await addresses(v6)).toEqual(['2001:db8::2']);
  });

  test('may be none at all', async () => {
    expect(await addresses(new TestCluster({ nodePortAddresses: [] }))).toEqual([]);
  });

  test('that come and go with settings take effect with the next full sync', async () => {
    const table = await fullySynced(clusterOf(balanced, pods(2)));
    expect(table.listing().sets.has('nodeport-ips')).toBe(false);
    for (const nodePortAddresses of [['192.168.0.2'], ['192.168.0.3'], 'all'] as const) {
      table.cluster.change({ nodePortAddresses });
      await table.fullSync();
      expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
    }
  });
});

describe('chains that fall out of use', () => {
  const lastGone = async (prepare: (table: TestTable) => void = () => {}) => {
    const table = await fullySynced(clusterOf(balanced, pods(2)));
    prepare(table);
    table.cluster.deleteSlice(KEY);
    await table.partialSync();
    return table;
  };
  const treatments = (table: TestTable) =>
    [...table.listing().chains.keys()]
      .filter((name) => /^(nodeport-(cluster|external)|external)-\d/.test(name))
      .sort();
  const all = ['external-2', 'nodeport-cluster-2', 'nodeport-external-2'];

  test('stay for a second and go with the next sync', async () => {
    const table = await lastGone();
    expect(treatments(table)).toEqual(all);
    await table.clock.advance(999);
    expect((await table.partialSync()).operations).toBe(0);
    expect(treatments(table)).toEqual(all);
    await table.clock.advance(1);
    expect((await table.partialSync()).operations).toBe(6);
    expect(treatments(table)).toEqual([]);
  });

  test('are there still when they come into use again within a second', async () => {
    const table = await lastGone();
    await table.clock.advance(900);
    table.cluster.slice(KEY, { p80: '80' }, pods(2));
    expect(summary(await committedBy(table, () => table.partialSync()))).not.toHaveProperty(
      'add chain external-2',
    );
    await table.collectStaleChains();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('are made anew when they come into use after a second', async () => {
    const table = await lastGone();
    await table.clock.advance(1500);
    table.cluster.slice(KEY, { p80: '80' }, pods(2));
    expect(summary(await committedBy(table, () => table.partialSync()))).toMatchObject({
      'delete chain external-2': 1,
      'add chain external-2': 1,
    });
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('are tried again a second later while the kernel says they are in use', async () => {
    const table = await lastGone(({ kernel }) => {
      kernel.lingers = true;
    });
    await table.clock.advance(1000);
    expect((await table.partialSync()).operations).toBe(0);
    table.kernel.settle();
    await table.clock.advance(999);
    expect((await table.partialSync()).operations).toBe(0);
    await table.clock.advance(1);
    await table.partialSync();
    expect(treatments(table)).toEqual([]);
  });

  test('that somebody else has deleted lead to a full sync', async () => {
    const table = await lastGone();
    table.kernel.commit(
      new Transaction('ip', TABLE)
        .flush({ kind: 'chain', name: 'external-2' })
        .delete({ kind: 'chain', name: 'external-2' })
        .flush({ kind: 'chain', name: 'services' }),
    );
    await table.collectStaleChains();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('of a table that was taken over go at once, or later where the kernel does not let them', async () => {
    const cluster = clusterOf(plain, pods(1));
    for (const lingers of [false, true]) {
      const table = fakeTable(cluster);
      table.kernel.lingers = lingers;
      table.kernel.commit(upstreamTable('ip'));
      await table.fullSync();
      const foreign = () => [...table.listing().chains.keys()].filter((name) => name.includes('/')).length;
      expect(foreign() > 0).toBe(lingers);
      table.kernel.settle();
      await table.collectStaleChains();
      expect(foreign()).toBe(0);
    }
  });
});

describe('room in sets', () => {
  const endpointsOf = (count: number) =>
    Array.from({ length: count }, (_, i) => `10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`);
  const isFull = (transactions: readonly Transaction[]) => 'flush table' in summary(transactions);

  test('is twice what is needed, and 1024 at least', async () => {
    const sizes = async (count: number) =>
      (await fullySynced(clusterOf(plain, endpointsOf(count)))).listing().sets.get('cluster-endpoints')?.set
        .size;
    expect(await sizes(0)).toBe(1024);
    expect(await sizes(511)).toBe(1024);
    expect(await sizes(512)).toBe(2048);
    expect(await sizes(3000)).toBe(8192);
  });

  test('is made by a full sync when it runs out', async () => {
    const table = await fullySynced(clusterOf(plain, endpointsOf(500)));
    const grow = (count: number) => {
      table.cluster.slice(KEY, { p80: '80' }, endpointsOf(count));
      return committedBy(table, () => table.partialSync());
    };
    expect(isFull(await grow(1024))).toBe(false);
    expect(isFull(await grow(1025))).toBe(true);
    expect(table.listing().sets.get('cluster-endpoints')?.set.size).toBe(4096);
    expect(isFull(await grow(4096))).toBe(false);
    const fresh = (await fullySynced(table.cluster)).describe();
    await table.collectStaleChains();
    expect(table.describe()).toBe(fresh.replace('size 16384', 'size 4096'));
  });

  test('counts what is deleted in the same sync', async () => {
    const table = await fullySynced(clusterOf(plain, endpointsOf(1000)));
    table.cluster
      .slice(KEY, { p80: '80' }, [])
      .service('ns2/other', { ...plain, clusterIP: '172.30.0.42' })
      .slice('ns2/other', { p80: '80' }, endpointsOf(2048));
    expect(isFull(await committedBy(table, () => table.partialSync()))).toBe(false);
  });
});

describe('failures', () => {
  test('a table that vanished makes the sync fail, and the next full sync repairs it', async () => {
    const table = await fullySynced(clusterOf(plain, pods(2)));
    const before = table.describe();
    table.kernel.commit(new Transaction('ip', TABLE).destroy({ kind: 'table' }));
    table.cluster.slice(KEY, { p80: '80' }, pods(3));
    const error = await table.partialSync().catch((reason: unknown) => reason);
    expect(isNotFound(error)).toBe(true);
    table.cluster.slice(KEY, { p80: '80' }, pods(2));
    await table.fullSync();
    expect(table.describe()).toBe(before);
  });

  test('after a failure a diff alone is not enough: the sync is a full one', async () => {
    const table = await fullySynced(clusterOf(plain, pods(2)));
    table.kernel.refuse = () => ENOENT;
    table.cluster.slice(KEY, { p80: '80' }, pods(3));
    await expect(table.partialSync()).rejects.toThrow('ENOENT');
    table.kernel.refuse = undefined;
    table.cluster.slice(KEY, { p80: '80' }, pods(4));
    expect(summary(await committedBy(table, () => table.partialSync()))).toHaveProperty('flush table');
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('a full sync that fails changes nothing and can be tried again', async () => {
    const table = await fullySynced(clusterOf(sticky, pods(2)));
    const before = table.describe();
    table.cluster.service('ns2/new', { ...plain, clusterIP: '172.30.0.42' });
    table.kernel.refuse = ({ object }) => (object.kind === 'rule' ? ENOENT : undefined);
    await expect(table.fullSync()).rejects.toThrow('ENOENT');
    expect(table.describe()).toBe(before);
    table.kernel.refuse = undefined;
    await table.fullSync();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('a table that was put to sleep wakes without its old rules, also where base chains are missing', async () => {
    const table = await fullySynced(clusterOf(plain, pods(2)));
    const natOutput = { kind: 'chain', name: 'nat-output' } as const;
    const asleep = { kind: 'table', dormant: true } as const;
    table.kernel.commit(new Transaction('ip', TABLE).flush(natOutput).delete(natOutput));
    table.kernel.commit(new Transaction('ip', TABLE).add(asleep));
    const [wake] = await committedBy(table, () => table.fullSync());
    expect(String(wake)).toBe('add table ip kube-proxy\nflush table ip kube-proxy\n');
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('a listing that fails makes the full sync fail', async () => {
    const table = fakeTable(clusterOf(plain, pods(2)));
    const { listNames } = table.kernel;
    table.kernel.listNames = () => {
      throw new Error('no listing today');
    };
    await expect(table.fullSync()).rejects.toThrow('no listing today');
    expect(table.kernel.committed).toEqual([]);
    table.kernel.listNames = listNames;
    await table.fullSync();
  });

  test('an answer that got lost after the commit does no harm', async () => {
    const table = await fullySynced(clusterOf(plain, pods(2)));
    const { kernel } = table;
    const { commit } = kernel;
    kernel.commit = (...args) => {
      commit.apply(kernel, args);
      throw new Error('the answer was lost');
    };
    table.cluster.slice(KEY, { p80: '80' }, pods(3));
    await expect(table.partialSync()).rejects.toThrow('lost');
    kernel.commit = commit;
    await table.fullSync();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });
});

describe('cleanup', () => {
  test('removes the table of its family, and nothing else', async () => {
    const table = await fullySynced(clusterOf(plain, pods(2)));
    const others = new Transaction('ip6', TABLE).add({ kind: 'table' });
    table.kernel.commit(others);
    table.kernel.commit(new Transaction('ip', 'other').add({ kind: 'table' }));
    cleanupNftables(table.kernel, 'ip');
    expect(table.kernel.dump()).toBe('table ip other {\n}\n\ntable ip6 kube-proxy {\n}\n');
    cleanupNftables(table.kernel, 'ip');
  });
});
