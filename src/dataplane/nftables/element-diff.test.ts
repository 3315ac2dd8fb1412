import { describe, expect, test } from 'vitest';
import type { ServiceFields } from '../../model/testing/objects.ts';
import type { PlanDiff } from '../../plan/proxy-plan.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { diffElements, type ElementDiff } from './element-diff.ts';
import type { ElementSink } from './service-elements.ts';

const fields: ServiceFields = { clusterIP: '172.30.0.41', ports: [{ name: 'p80' }] };
const cluster = (...endpoints: string[]) =>
  new TestCluster().service('ns1/svc1', fields).slice('ns1/svc1', { p80: '80' }, endpoints);

/** Puts a cluster as it is in force, then changes it and compares. */
function changed(from: TestCluster, change: (cluster: TestCluster) => unknown): PlanDiff {
  from.plan();
  change(from);
  return from.update().diff;
}

function textOf(emits: ElementDiff['added']): string[] {
  const lines: string[] = [];
  const sink: ElementSink = {
    clusterIP: () => expect.unreachable('shared elements are not in the lists'),
    hairpin: () => expect.unreachable('shared elements are not in the lists'),
    verdict: (map, ip, _, port, verdict) => lines.push(`${map} ${ip} ${port} : ${verdict}`),
    endpoint: (map, ip, _, port, slot, target) => lines.push(`${map} ${ip} ${port} ${slot} : ${target.ip}`),
  };
  for (const emit of emits) emit(sink);
  return lines;
}

const summary = (diff: PlanDiff) => {
  const { deleted, added, shared, chainUse } = diffElements(diff);
  return {
    deleted: textOf(deleted),
    added: textOf(added),
    shared: Object.fromEntries(shared),
    chainUse: Object.fromEntries(chainUse),
  };
};

test('no difference', () => {
  const nothing = { deleted: [], added: [], shared: {}, chainUse: {} };
  expect(summary([])).toEqual(nothing);
  const same = changed(cluster('10.0.0.1'), (one) =>
    one.service('ns1/svc1', { ...fields, creationTimestamp: 9 }),
  );
  expect(same).toHaveLength(1);
  expect(summary(same)).toEqual(nothing);
});

test('a new ServicePort, and the same one gone', () => {
  const all = [
    'service-ips 172.30.0.41 80 : goto cluster-1',
    'cluster-endpoints 172.30.0.41 80 0 : 10.0.0.1',
  ];
  const coming = changed(new TestCluster(), (one) =>
    one.service('ns1/svc1', fields).slice('ns1/svc1', { p80: '80' }, ['10.0.0.1*']),
  );
  expect(summary(coming)).toEqual({
    deleted: [],
    added: all,
    shared: { '172.30.0.41': 1, '10.0.0.1 TCP 80': 1 },
    chainUse: { 'cluster-1': 1 },
  });
  expect(summary(coming.map(({ before, after }) => ({ before: after, after: before })))).toEqual({
    deleted: all,
    added: [],
    shared: { '172.30.0.41': -1, '10.0.0.1 TCP 80': -1 },
    chainUse: { 'cluster-1': -1 },
  });
});

test('an element with another value is deleted and added', () => {
  const diff = changed(cluster('10.0.0.1', '10.0.0.2'), (one) =>
    one.slice('ns1/svc1', { p80: '80' }, ['10.0.0.1', '10.0.0.2', '10.0.0.3']),
  );
  expect(summary(diff)).toEqual({
    deleted: ['service-ips 172.30.0.41 80 : goto cluster-2'],
    added: ['service-ips 172.30.0.41 80 : goto cluster-4', 'cluster-endpoints 172.30.0.41 80 2 : 10.0.0.3'],
    shared: {},
    chainUse: { 'cluster-2': -1, 'cluster-4': 1 },
  });
});

describe('ServicePorts that touch each other', () => {
  const external = { ...fields, externalIPs: ['1.2.3.4'] };

  test('an address that passes from one to another', () => {
    const from = cluster('10.0.0.1')
      .service('ns1/svc1', { ...external, creationTimestamp: 1 })
      .service('ns2/svc2', { ...external, clusterIP: '172.30.0.42', creationTimestamp: 2 });
    const diff = changed(from, (one) => one.deleteService('ns1/svc1'));
    expect(diff).toHaveLength(2);
    expect(summary(diff)).toEqual({
      deleted: [
        'service-ips 172.30.0.41 80 : goto cluster-1',
        'cluster-endpoints 172.30.0.41 80 0 : 10.0.0.1',
        'service-ips 1.2.3.4 80 : goto external-1',
        'cluster-endpoints 1.2.3.4 80 0 : 10.0.0.1',
      ],
      added: ['no-endpoint-services 1.2.3.4 80 : goto reject-chain'],
      shared: { '172.30.0.41': -1 },
      chainUse: { 'cluster-1': -1, 'external-1': -1, 'reject-chain': 1 },
    });
  });

  test('ClusterIPs and node ports that two exchange keep their keys', () => {
    const port = (nodePort: number) => ({ ...fields, type: 'NodePort', ports: [{ name: 'p80', nodePort }] });
    const from = cluster('10.0.0.1')
      .service('ns1/svc1', port(3001))
      .service('ns2/svc2', { ...port(3002), clusterIP: '172.30.0.42' });
    const diff = changed(from, (one) =>
      one.service('ns1/svc1', port(3002)).service('ns2/svc2', { ...port(3001), clusterIP: '172.30.0.42' }),
    );
    const { deleted, added, chainUse } = summary(diff);
    expect(deleted).toContain('service-nodeports  3001 : goto nodeport-external-1');
    expect(added).toContain('service-nodeports  3002 : goto nodeport-external-1');
    expect(added).toContain('no-endpoint-nodeports  3001 : goto reject-chain');
    expect(deleted).toContain('no-endpoint-nodeports  3002 : goto reject-chain');
    expect(chainUse).toEqual({});
  });
});
