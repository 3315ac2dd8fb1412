import { describe, expect, test } from 'vitest';
import { flowBetween } from '../../kernel/conntrack/testing/flow-view.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { Protocol, ServicePort } from '../../model/service-port.ts';
import type { Frontend, PlanDiff, ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { settings } from '../../plan/testing/settings.ts';
import { flowFrontendsOf, mayHaveStaleFlows } from './flow-frontends-of.ts';

const CLIENT = '10.0.0.9:1234';

function endpoint(ip: string, isServing = true): Endpoint {
  return {
    ip,
    port: 9090,
    isLocal: false,
    isReady: isServing,
    isServing,
    isTerminating: false,
    zoneHints: [],
    nodeHints: [],
  };
}

function servicePort(protocol: Protocol): ServicePort {
  return {
    namespace: 'ns',
    name: 'svc',
    portName: 'p',
    protocol,
    clusterIP: '172.30.1.1',
    port: 53,
    nodePort: 0,
    externalIPs: [],
    loadBalancerVIPs: [],
    loadBalancerSourceRanges: [],
    affinityTimeoutSeconds: 0,
    externalPolicyLocal: false,
    internalPolicyLocal: false,
    healthCheckNodePort: 0,
    hasExternalIPs: false,
    creationTimestamp: 0,
  };
}

const CLUSTER_IP: Frontend = { kind: 'ClusterIP', ip: '172.30.1.1', port: 53 };
const NODE_PORT: Frontend = { kind: 'NodePort', port: 30_053 };

function planned(
  endpoints: readonly Endpoint[],
  frontends: readonly Frontend[] = [CLUSTER_IP],
  protocol: Protocol = 'UDP',
): ServicePortPlan {
  return {
    key: `ns/svc:p/${protocol}`,
    servicePort: servicePort(protocol),
    frontends,
    endpoints,
    cluster: [],
    local: [],
    allReachable: [],
    hasAnyEndpoints: endpoints.length > 0,
  };
}

function planOf(ports: readonly ServicePortPlan[], fields = {}): ProxyPlan {
  return { settings: settings(fields), servicePorts: new Map(ports.map((port) => [port.key, port])) };
}

const udpFrontendsOf = (plan: ProxyPlan, changes: PlanDiff = []) =>
  flowFrontendsOf(plan, 'datagrams', { changes, localAddresses: ['192.0.2.1'] });

describe('datagrams', () => {
  test('takes the UDP ports and the endpoints that serve', () => {
    const plan = planOf([
      planned([endpoint('10.244.0.1'), endpoint('10.244.0.2', false)], [CLUSTER_IP, NODE_PORT]),
      planned([endpoint('10.244.0.3')], [{ kind: 'ClusterIP', ip: '172.30.1.2', port: 53 }], 'TCP'),
    ]);
    const frontends = udpFrontendsOf(plan);
    expect(frontends.size).toBe(2);
    expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.1:9090'))).toBe(false);
    expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.2:9090'))).toBe(true);
    expect(frontends.isStale(flowBetween(CLIENT, '192.0.2.1:30053', '10.244.0.2:9090'))).toBe(true);
    expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.2:53', '10.244.0.9:9090'))).toBe(false);
  });

  test('nodePorts count on the addresses that serve them', () => {
    const plan = planOf([planned([endpoint('10.244.0.1')], [NODE_PORT])], {
      nodePortAddresses: ['192.0.2.1'],
    });
    const frontends = udpFrontendsOf(plan);
    expect(frontends.isStale(flowBetween(CLIENT, '192.0.2.1:30053', '10.244.0.2:9090'))).toBe(true);
    expect(frontends.isStale(flowBetween(CLIENT, '192.0.2.2:30053', '10.244.0.2:9090'))).toBe(false);
  });

  test.each([
    [true, true],
    [false, false],
  ])('node ports on the loopback address: %s, stale there: %s', (localhostNodePorts, expected) => {
    const flow = flowBetween('127.0.0.1:1234', '127.0.0.1:30053', '127.0.0.1:30053');
    const port = planned([endpoint('10.244.0.1')], [NODE_PORT]);
    const onLoopback = ['127.0.0.1', '192.0.2.1'];
    const listed = planOf([port], { nodePortAddresses: onLoopback, localhostNodePorts });
    expect(udpFrontendsOf(listed).isStale(flow)).toBe(expected);
    const options = { changes: [], localAddresses: onLoopback };
    const all = flowFrontendsOf(planOf([port], { localhostNodePorts }), 'datagrams', options);
    expect(all.isStale(flow)).toBe(expected);
    const other = flowBetween('192.0.2.1:1234', '192.0.2.1:30053', '192.0.2.1:30053');
    expect([udpFrontendsOf(listed).isStale(other), all.isStale(other)]).toEqual([true, true]);
  });

  test('a nodePort that changed its number, and a Service that is gone, leave nothing behind', () => {
    const before = planned([endpoint('10.244.0.1')], [CLUSTER_IP, NODE_PORT]);
    const after = planned([endpoint('10.244.0.1')], [CLUSTER_IP, { kind: 'NodePort', port: 30_054 }]);
    const renumbered = udpFrontendsOf(planOf([after]), [{ before, after }]);
    const old = flowBetween(CLIENT, '192.0.2.1:30053', '10.244.0.1:9090');
    expect(renumbered.isStale(old)).toBe(true);
    expect(renumbered.isStale(flowBetween(CLIENT, '192.0.2.1:30054', '192.0.2.1:30054'))).toBe(true);
    expect(renumbered.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.1:9090'))).toBe(false);
    const gone = udpFrontendsOf(planOf([]), [{ before, after: undefined }]);
    expect(gone.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.1:9090'))).toBe(true);
    expect(gone.isStale(old)).toBe(true);
    expect(udpFrontendsOf(planOf([])).isStale(old)).toBe(false);
  });
});

describe('mayHaveStaleFlows', () => {
  const one = planned([endpoint('10.244.0.1')]);
  test.each([
    ['nothing', [], false],
    ['a new Service', [{ before: undefined, after: one }], true],
    ['a new Service without endpoints', [{ before: undefined, after: planned([]) }], false],
    ['the first endpoint', [{ before: planned([]), after: one }], true],
    [
      'an endpoint more',
      [{ before: one, after: planned([endpoint('10.244.0.1'), endpoint('10.244.0.2')]) }],
      false,
    ],
    ['a Service that is gone', [{ before: one, after: undefined }], true],
    ['the same endpoints and frontends', [{ before: one, after: planned([endpoint('10.244.0.1')]) }], false],
    [
      'an endpoint that comes without serving',
      [{ before: one, after: planned([endpoint('10.244.0.1'), endpoint('10.244.0.2', false)]) }],
      false,
    ],
    ['other endpoints', [{ before: one, after: planned([endpoint('10.244.0.2')]) }], true],
    [
      'an endpoint that stops serving',
      [{ before: one, after: planned([endpoint('10.244.0.1', false)]) }],
      true,
    ],
    ['another frontend', [{ before: one, after: planned([endpoint('10.244.0.1')], [NODE_PORT]) }], true],
    ['TCP', [{ before: planned([endpoint('10.244.0.1')], [CLUSTER_IP], 'TCP'), after: undefined }], false],
  ])('%s: %s', (_name, changes, expected) => {
    expect(mayHaveStaleFlows(changes, 'datagrams')).toBe(expected);
  });

  test.each(['TCP', 'SCTP'] as const)('%s', (protocol) => {
    const port = planned([endpoint('10.244.0.1')], [CLUSTER_IP], protocol);
    expect(mayHaveStaleFlows([{ before: port, after: undefined }], 'connections')).toBe(true);
    expect(mayHaveStaleFlows([{ before: port, after: port }], 'connections')).toBe(false);
    expect(mayHaveStaleFlows([{ before: one, after: undefined }], 'connections')).toBe(false);
  });
});

describe('connections', () => {
  const OPENING = { connectionState: 1 };
  const tcp = (ip: string, endpoints: readonly Endpoint[]): ServicePortPlan => {
    const port = planned(endpoints, [{ kind: 'ClusterIP', ip, port: 53 }], 'TCP');
    return { ...port, key: `ns/${ip}:p/TCP` };
  };
  const untranslated = (ip: string) => flowBetween(CLIENT, `${ip}:53`, `${ip}:53`, 6, OPENING);
  const frontendsAfter = (plan: ProxyPlan, changes: PlanDiff) =>
    flowFrontendsOf(plan, 'connections', { changes, localAddresses: [] });

  test('are looked for at the ServicePorts that changed, as the plan has them now', () => {
    const changed = tcp('172.30.1.1', [endpoint('10.244.0.1')]);
    const now = tcp('172.30.1.1', [endpoint('10.244.0.2')]);
    const plan = planOf([
      now,
      tcp('172.30.1.2', [endpoint('10.244.0.3')]),
      planned([endpoint('10.244.0.4')]),
    ]);
    const frontends = frontendsAfter(plan, [{ before: undefined, after: changed }]);
    expect(frontends.size).toBe(1);
    expect(frontends.isStale(untranslated('172.30.1.1'))).toBe(true);
    expect(frontends.isStale(untranslated('172.30.1.2'))).toBe(false);
    const to = (ip: string) => flowBetween(CLIENT, '172.30.1.1:53', `${ip}:9090`, 6, OPENING);
    expect(frontends.isStale(to('10.244.0.1'))).toBe(true);
    expect(frontends.isStale(to('10.244.0.2'))).toBe(false);
  });

  test('a Service that is gone counts as removed', () => {
    const before = tcp('172.30.1.1', [endpoint('10.244.0.1')]);
    const frontends = frontendsAfter(planOf([]), [{ before, after: undefined }]);
    expect(frontends.isStale(untranslated('172.30.1.1'))).toBe(false);
    expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.1:9090', 6, OPENING))).toBe(true);
  });
});

test('pods that are published although they are not ready may have flows', () => {
  const unready = { ...endpoint('10.244.0.1', false), isReady: true };
  const frontends = udpFrontendsOf(planOf([planned([unready])]));
  expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.1:53', '10.244.0.1:9090'))).toBe(false);
  expect(frontends.isStale(flowBetween(CLIENT, '172.30.1.1:53', '172.30.1.1:53'))).toBe(true);
});
