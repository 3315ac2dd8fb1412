import { describe, expect, test } from 'vitest';
import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import type { Service } from '../../kube/service.ts';
import { readManifest } from './read-manifest.ts';

async function readService(spec: object, more: object = {}): Promise<Service> {
  const json = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec, ...more };
  const manifest = await readManifest(JSON.stringify(json));
  expect(manifest.rejected.map(({ error }) => error.message)).toEqual([]);
  return manifest.objects[0]!.kinded.object as Service;
}

describe('what kube-apiserver would fill in', () => {
  test('a ClusterIP Service', async () => {
    expect(await readService({ clusterIP: '10.96.0.1', ports: [{ port: 80 }] })).toMatchObject({
      namespace: 'default',
      type: 'ClusterIP',
      clusterIPs: ['10.96.0.1'],
      ipFamilies: ['IPv4'],
      ports: [{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }],
      sessionAffinity: 'None',
      affinityTimeoutSeconds: undefined,
      internalTrafficPolicy: 'Cluster',
      externalTrafficPolicy: '',
    });
  });

  test('clusterIP from clusterIPs, families from the addresses', async () => {
    const service = await readService({ clusterIPs: ['fd00:96::1', '10.96.0.1'] });
    expect(service).toMatchObject({ clusterIP: 'fd00:96::1', ipFamilies: ['IPv6', 'IPv4'] });
  });

  test('what is reachable from outside has an external policy', async () => {
    expect(await readService({ type: 'NodePort' })).toMatchObject({ externalTrafficPolicy: 'Cluster' });
    expect(await readService({ externalIPs: ['192.0.2.1'] })).toMatchObject({
      externalTrafficPolicy: 'Cluster',
    });
    expect(await readService({ type: 'NodePort', externalTrafficPolicy: 'Local' })).toMatchObject({
      externalTrafficPolicy: 'Local',
    });
  });

  test('affinity lasts three hours unless it says otherwise, and none has no time-out', async () => {
    const config = { clientIP: { timeoutSeconds: 60 } };
    expect((await readService({ sessionAffinity: 'ClientIP' })).affinityTimeoutSeconds).toBe(10_800);
    expect(
      (await readService({ sessionAffinity: 'ClientIP', sessionAffinityConfig: config }))
        .affinityTimeoutSeconds,
    ).toBe(60);
    expect((await readService({ sessionAffinityConfig: config })).affinityTimeoutSeconds).toBeUndefined();
  });

  test('load balancer addresses are VIPs; host names are not', async () => {
    const status = {
      loadBalancer: {
        ingress: [{ ip: '192.0.2.1' }, { hostname: 'x' }, { ip: '192.0.2.2', ipMode: 'Proxy' }],
      },
    };
    const { loadBalancerIngress } = await readService({ type: 'LoadBalancer' }, { status });
    expect(loadBalancerIngress.map(({ ipMode }) => ipMode)).toEqual(['VIP', '', 'Proxy']);
  });

  test('a slice port without a name is the unnamed port', async () => {
    const slice = {
      kind: 'EndpointSlice',
      metadata: { name: 's' },
      addressType: 'IPv4',
      ports: [{ port: 80 }, { name: 'x' }],
    };
    const { objects } = await readManifest(JSON.stringify(slice));
    expect((objects[0]!.kinded.object as EndpointSlice).ports).toEqual([
      { name: '', port: 80, protocol: 'TCP' },
      { name: 'x', port: undefined, protocol: 'TCP' },
    ]);
  });
});

describe('what kube-apiserver would refuse', () => {
  test.each([
    [{ type: 'Fancy' }, 'spec.type: must be one of ClusterIP, NodePort, LoadBalancer, ExternalName'],
    [
      { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.2'] },
      'spec.clusterIPs[0]: must be the same as spec.clusterIP',
    ],
    [{ clusterIPs: ['10.96.0.1', 'x'] }, 'spec.clusterIPs[1]: must be an IP address'],
    [{ ports: [{}] }, 'spec.ports[0].port: must be from 1 to 65535'],
    [{ ports: [{ port: 80, nodePort: 70_000 }] }, 'spec.ports[0].nodePort: must be from 0 to 65535'],
    [{ ports: [{ port: 80, protocol: 'ICMP' }] }, 'spec.ports[0].protocol: must be one of TCP, UDP, SCTP'],
    [
      { ports: [{ port: 80, name: 'a' }, { port: 81 }] },
      'spec.ports[1].name: is required where there are several ports',
    ],
    [
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 81, name: 'a' },
        ],
      },
      'spec.ports[1].name: is used by two ports',
    ],
  ])('%j', async (spec, message) => {
    const { objects, rejected } = await readManifest(
      JSON.stringify({ kind: 'Service', metadata: { name: 'a' }, spec }),
    );
    expect(objects).toEqual([]);
    expect(rejected.map(({ key, error }) => [key, error.message])).toEqual([['Service default/a', message]]);
  });
});

describe('documents that are known', () => {
  const good = (name: string) => `kind: Service\nmetadata:\n  name: ${name}\nspec:\n  clusterIP: 10.96.0.1\n`;
  const bad = 'kind: Service\nmetadata:\n  name: bad\nspec: 5\n';

  test('are not read again, and keep pace with the lines above them', async () => {
    const first = await readManifest(`${good('a')}---\n${bad}---\n${good('b')}`);
    expect(first.objects.map(({ line }) => line)).toEqual([1, 12]);
    expect(first.rejected[0]!.error.detail.line).toBe(10);
    const second = await readManifest(
      `# new\n---\n${good('a')}---\n${bad}---\n${good('b')}`,
      first.documents,
    );
    expect(second.objects.map(({ line }) => line)).toEqual([3, 14]);
    expect(second.rejected[0]!.error.detail.line).toBe(12);
    expect(second.objects[0]!.kinded).toBe(first.objects[0]!.kinded);
    expect(second.objects[0]!.version).toBe(first.objects[0]!.version);
  });
});

describe('lists', () => {
  const object = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { clusterIP: '10.96.0.1' },
  });
  const listOf = (...items: unknown[]) => ({ apiVersion: 'v1', kind: 'List', items });

  test('within lists are unpacked as kubectl does; a fault is named with its whole path', async () => {
    const bad = { ...object('bad'), spec: { type: 'Wrong' } };
    const text = JSON.stringify(listOf(object('a'), listOf(object('b'), listOf(bad)), object('c')));
    const { objects, rejected } = await readManifest(text);
    expect(objects.map(({ key }) => key)).toEqual([
      'Service default/a',
      'Service default/b',
      'Service default/c',
    ]);
    expect(rejected.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^items\[1\]\.items\[1\]\.items\[0\]\.spec\.type: must be one of/),
    ]);
  });

  test('that contain themselves end', async () => {
    const text =
      'apiVersion: v1\nkind: List\nitems: &all\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n' +
      '- {apiVersion: v1, kind: List, items: *all}\n- {apiVersion: v1, kind: List, items: *all}\n';
    const { objects, ignoredKinds } = await readManifest(text);
    expect(objects.map(({ key }) => key)).toEqual(['Service default/a']);
    expect(ignoredKinds).toEqual(['List']);
  });
});
