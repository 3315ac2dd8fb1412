import { describe, expect, test } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { balanced, clusterOf, KEY, plain, pods, sticky, summary } from './testing/one-service.ts';
import { committedBy, fullySynced } from './testing/test-table.ts';

describe('a partial sync does as much as has changed', () => {
  const cases: readonly {
    readonly name: string;
    readonly from: TestCluster;
    readonly change: (cluster: TestCluster) => unknown;
    readonly expected: Record<string, number>;
  }[] = [
    {
      name: 'nothing',
      from: clusterOf(plain, pods(3)),
      change: () => {},
      expected: {},
    },
    {
      name: 'an endpoint that nothing may use yet',
      from: clusterOf(plain, pods(3)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, [...pods(3), '10.180.0.99 U']),
      expected: {},
    },
    {
      name: 'one more endpoint among 9 to 16',
      from: clusterOf(plain, pods(10)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(11)),
      expected: { 'add cluster-endpoints': 1 },
    },
    {
      name: 'one endpoint of ten replaced by its neighbour',
      from: clusterOf(plain, pods(10)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, [...pods(9), '10.180.0.99']),
      expected: { 'delete cluster-endpoints': 1, 'add cluster-endpoints': 1 },
    },
    {
      name: 'the first endpoint of ten gone and a last one come: every slot changes, no rule and no verdict',
      from: clusterOf(plain, pods(10)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(10, 11)),
      expected: { 'delete cluster-endpoints': 10, 'add cluster-endpoints': 10 },
    },
    {
      name: 'the same, for a Service with three more frontends',
      from: clusterOf(balanced, pods(10)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, [...pods(9), '10.180.0.99']),
      expected: {
        'delete cluster-endpoints': 3,
        'add cluster-endpoints': 3,
        'delete nodeport-cluster-endpoints': 1,
        'add nodeport-cluster-endpoints': 1,
      },
    },
    {
      name: 'an endpoint that comes to be on this node',
      from: clusterOf(plain, pods(3)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, [...pods(2), '10.180.0.12*']),
      expected: { 'add hairpin-connections': 1 },
    },
    {
      name: 'the 65th endpoint, which needs a treatment that is not there',
      from: clusterOf(plain, pods(64)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(65)),
      expected: {
        'add chain cluster-draw-128': 1,
        'add rule in cluster-draw-128': 1,
        'add chain cluster-128': 1,
        'add rule in cluster-128': 9,
        'delete service-ips': 1,
        'add service-ips': 1,
        'add cluster-endpoints': 1,
      },
    },
    {
      name: 'the ninth endpoint, with the treatment there',
      from: clusterOf(plain, pods(8)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(9)),
      expected: { 'delete service-ips': 1, 'add service-ips': 1, 'add cluster-endpoints': 1 },
    },
    {
      name: 'the first endpoint',
      from: clusterOf(plain, []),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, ['10.180.0.1*']),
      expected: {
        'delete no-endpoint-services': 1,
        'add service-ips': 1,
        'add cluster-endpoints': 1,
        'add hairpin-connections': 1,
      },
    },
    {
      name: 'the last endpoint gone',
      from: clusterOf(plain, ['10.180.0.1*']),
      change: (cluster) => cluster.deleteSlice(KEY),
      expected: {
        'delete service-ips': 1,
        'delete cluster-endpoints': 1,
        'delete hairpin-connections': 1,
        'add no-endpoint-services': 1,
      },
    },
    {
      name: 'a new Service without endpoints',
      from: new TestCluster(),
      change: (cluster) => cluster.service(KEY, plain),
      expected: { 'add cluster-ips': 1, 'add no-endpoint-services': 1 },
    },
    {
      name: 'a new Service like one that is there',
      from: clusterOf(plain, pods(2)),
      change: (cluster) =>
        cluster
          .service('ns2/other', { ...plain, clusterIP: '172.30.0.42' })
          .slice('ns2/other', { p80: '80' }, pods(2, 50)),
      expected: { 'add cluster-ips': 1, 'add service-ips': 1, 'add cluster-endpoints': 2 },
    },
    {
      name: 'a Service deleted',
      from: clusterOf(plain, ['10.180.0.1*', '10.180.0.2']),
      change: (cluster) => cluster.deleteService(KEY).deleteSlice(KEY),
      expected: {
        'delete cluster-ips': 1,
        'delete service-ips': 1,
        'delete cluster-endpoints': 2,
        'delete hairpin-connections': 1,
      },
    },
    {
      name: 'a second port of a Service: the ClusterIP and the hairpin are there',
      from: clusterOf(plain, ['10.180.0.1*']),
      change: (cluster) =>
        cluster
          .service(KEY, { ...plain, ports: [{ name: 'p80' }, { name: 'p81', port: 81 }] })
          .slice(KEY, { p80: '80', p81: '80' }, ['10.180.0.1*']),
      expected: { 'add service-ips': 1, 'add cluster-endpoints': 1 },
    },
    {
      name: 'a Service under another name: comments only',
      from: clusterOf(plain, pods(2)),
      change: (cluster) =>
        cluster
          .deleteService(KEY)
          .deleteSlice(KEY)
          .service('ns2/other', plain)
          .slice('ns2/other', { p80: '80' }, pods(2)),
      expected: { 'delete service-ips': 1, 'add service-ips': 1 },
    },
    {
      name: 'a fourth endpoint of a Service with affinity',
      from: clusterOf(sticky, pods(3)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(4)),
      expected: {
        'add set affinity-…': 1,
        'add chain endpoint-…': 1,
        'flush chain service-…': 1,
        'add rule in service-…': 5,
        'flush chain endpoint-…': 1,
        'add rule in endpoint-…': 2,
      },
    },
    {
      name: 'an endpoint less of a Service with affinity',
      from: clusterOf(sticky, pods(3)),
      change: (cluster) => cluster.slice(KEY, { p80: '80' }, pods(2)),
      expected: {
        'flush chain service-…': 1,
        'add rule in service-…': 3,
        'flush chain endpoint-…': 1,
        'delete set affinity-…': 1,
      },
    },
    {
      name: 'another affinity timeout',
      from: clusterOf(sticky, pods(3)),
      change: (cluster) => cluster.service(KEY, { ...sticky, affinityTimeoutSeconds: 60 }),
      expected: { 'add set affinity-…': 3, 'flush chain endpoint-…': 3, 'add rule in endpoint-…': 6 },
    },
    {
      name: 'other source ranges',
      from: clusterOf({ ...balanced, loadBalancerSourceRanges: ['10.0.0.0/8'] }, pods(3)),
      change: (cluster) => cluster.service(KEY, { ...balanced, loadBalancerSourceRanges: ['11.0.0.0/8'] }),
      expected: { 'flush chain firewall-…': 1, 'add rule in firewall-…': 1 },
    },
  ];

  test.each(cases)('$name', async ({ from, change, expected }) => {
    const table = await fullySynced(from);
    change(table.cluster);
    let operations = 0;
    const committed = await committedBy(table, async () => {
      ({ operations } = await table.partialSync());
    });
    expect(summary(committed)).toEqual(expected);
    expect(operations).toBe(Object.values(expected).reduce((sum, count) => sum + count, 0));
    expect(committed.length).toBeLessThanOrEqual(1);
  });

  test('with 400 other Services around, too', async () => {
    const cluster = clusterOf(balanced, pods(10));
    for (let i = 0; i < 400; i++) {
      const key = `ns2/svc${i}`;
      cluster.service(key, { ...plain, clusterIP: `172.30.${1 + (i >> 8)}.${i & 255}` });
      cluster.slice(key, { p80: '80' }, pods(i % 7));
    }
    const table = await fullySynced(cluster);
    table.cluster.slice(KEY, { p80: '80' }, [...pods(9), '10.180.0.99']);
    expect((await table.partialSync()).operations).toBe(8);
  });
});
