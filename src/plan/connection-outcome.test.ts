import { describe, expect, test } from 'vitest';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import { endpoint, type ServiceFields, service, slice } from '../model/testing/objects.ts';
import { connectionOutcome, type NodeView } from './connection-outcome.ts';
import type { PlanSettings } from './plan-settings.ts';
import { Planner } from './planner.ts';
import { settings } from './testing/settings.ts';

const NODE = '192.168.0.2';
const POD = '10.0.0.9';
const CLIENT = '203.0.113.2';
const here = endpoint('10.0.0.1', { nodeName: 'node1' });
const there = endpoint('10.0.0.2', { nodeName: 'node2' });

const balanced: ServiceFields = {
  type: 'LoadBalancer',
  clusterIP: '172.30.0.1',
  loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }],
  ports: [{ nodePort: 30_080 }],
};

interface World {
  readonly fields?: ServiceFields;
  readonly endpoints?: readonly ReturnType<typeof endpoint>[];
  readonly settings?: Partial<PlanSettings>;
}

function view(mode: NodeView['mode'], { fields = {}, endpoints = [here], ...world }: World): NodeView {
  const services = new ServiceChangeTracker('IPv4', () => {});
  const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node1', report: () => {} });
  services.update(service({ ...balanced, ...fields }));
  slices.update(slice({ endpoints }));
  services.checkout();
  slices.checkout();
  const planSettings = settings({ localhostNodePorts: true, ...world.settings });
  const input = { services: services.services, endpoints: slices.endpoints.bind(slices) };
  const plan = new Planner(planSettings, () => {}).replan(input, planSettings);
  return { plan, mode, nodeAddresses: [NODE, '192.168.1.2', '127.0.0.1'] };
}

/** `to 10.0.0.1`, with ` M` where it is masqueraded, or the word of what else becomes of it. */
function outcome(
  mode: NodeView['mode'],
  world: World,
  [source, to, inputInterface]: readonly [string, string, string?],
): string {
  const [ip = '', port] = to.split(':');
  const found = connectionOutcome(
    {
      destination: { ip, port: Number(port), protocol: 'TCP' },
      source,
      ...(inputInterface === undefined ? {} : { inputInterface }),
    },
    view(mode, world),
  );
  if (found.kind !== 'forwarded') return found.kind;
  return `to ${found.endpoints.map(({ ip: address }) => address).join(' ')}${found.masquerade ? ' M' : ''}`;
}

describe('where the modes differ', () => {
  test.each<[about: string, world: World, flow: [string, string], nftables: string, iptables: string]>([
    ['a port that the ClusterIP has not', {}, [POD, '172.30.0.1:81'], 'rejected', 'untouched'],
    ['an address that no Service has', {}, [POD, '172.30.0.9:80'], 'dropped', 'untouched'],
    ['a node port at 127.0.0.1', {}, ['127.0.0.1', '127.0.0.1:30080'], 'untouched', 'to 10.0.0.1 M'],
    [
      'the same where it is switched off',
      { settings: { localhostNodePorts: false } },
      ['127.0.0.1', '127.0.0.1:30080'],
      'untouched',
      'untouched',
    ],
    [
      'a process of the node without endpoints',
      { endpoints: [] },
      [NODE, '1.2.3.4:80'],
      'rejected',
      'untouched',
    ],
    [
      'a refused source without endpoints',
      { fields: { loadBalancerSourceRanges: ['8.8.8.0/24'] }, endpoints: [] },
      [CLIENT, '1.2.3.4:80'],
      'dropped',
      'rejected',
    ],
    [
      'a refused source at an address that is external as well',
      { fields: { loadBalancerSourceRanges: ['8.8.8.0/24'], externalIPs: ['1.2.3.4'] } },
      [CLIENT, '1.2.3.4:80'],
      'dropped',
      'to 10.0.0.1 M',
    ],
    [
      'a node port without endpoints at an address that takes none',
      { endpoints: [], settings: { nodePortAddresses: [NODE] } },
      [CLIENT, '192.168.1.2:30080'],
      'untouched',
      'rejected',
    ],
    [
      'the same with policy Local and an endpoint elsewhere',
      {
        fields: { externalTrafficPolicy: 'Local' },
        endpoints: [there],
        settings: { nodePortAddresses: [NODE] },
      },
      [CLIENT, '192.168.1.2:30080'],
      'untouched',
      'dropped',
    ],
  ])('%s', (_about, world, flow, nftables, iptables) => {
    expect(outcome('nftables', world, flow)).toBe(nftables);
    expect(outcome('iptables', world, flow)).toBe(iptables);
  });
});

describe.each(['nftables', 'iptables'] as const)('%s', (mode) => {
  const local: World = {
    fields: { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 },
    endpoints: [here, there],
  };

  test('policy Local binds outside clients only', () => {
    expect(outcome(mode, local, [CLIENT, '1.2.3.4:80'])).toBe('to 10.0.0.1');
    expect(outcome(mode, local, [POD, '1.2.3.4:80'])).toBe('to 10.0.0.1 10.0.0.2');
    expect(outcome(mode, local, [NODE, '1.2.3.4:80'])).toBe('to 10.0.0.1 10.0.0.2 M');
  });

  test('which sources are pods, the interface may decide', () => {
    const bridge = {
      ...local,
      settings: { localTraffic: { kind: 'bridgeInterface', name: 'cbr0' } },
    } as const;
    expect(outcome(mode, bridge, [POD, '1.2.3.4:80', 'cbr0'])).toBe('to 10.0.0.1 10.0.0.2');
    expect(outcome(mode, bridge, [POD, '1.2.3.4:80', 'eth0'])).toBe('to 10.0.0.1');
    expect(outcome(mode, bridge, [POD, '172.30.0.1:80'])).toBe('to 10.0.0.1 10.0.0.2 M');
    const prefix = {
      ...local,
      settings: { localTraffic: { kind: 'interfaceNamePrefix', prefix: 'veth' } },
    } as const;
    expect(outcome(mode, prefix, [POD, '172.30.0.1:80', 'veth7'])).toBe('to 10.0.0.1 10.0.0.2');
    const none = { ...local, settings: { localTraffic: { kind: 'none' } } } as const;
    expect(outcome(mode, none, [POD, '1.2.3.4:80'])).toBe('to 10.0.0.1');
    expect(outcome(mode, none, [CLIENT, '172.30.0.1:80'])).toBe('to 10.0.0.1 10.0.0.2');
  });

  test('source ranges that hold the node let in its load balancer addresses', () => {
    const ranged: World = { fields: { loadBalancerSourceRanges: ['192.168.0.0/24'] } };
    expect(outcome(mode, ranged, [NODE, '1.2.3.4:80'])).toBe('to 10.0.0.1 M');
    expect(outcome(mode, ranged, ['1.2.3.4', '1.2.3.4:80'])).toBe('to 10.0.0.1 M');
    expect(outcome(mode, ranged, [CLIENT, '1.2.3.4:80'])).toBe('dropped');
    expect(outcome(mode, ranged, [CLIENT, `${NODE}:30080`])).toBe('to 10.0.0.1 M');
    const without: World = { fields: { loadBalancerSourceRanges: ['8.8.8.0/24'] } };
    expect(outcome(mode, without, ['1.2.3.4', '1.2.3.4:80'])).toBe('dropped');
  });

  test('other addresses of the node are not touched', () => {
    expect(outcome(mode, {}, [CLIENT, `${NODE}:30081`])).toBe('untouched');
    const some = { settings: { nodePortAddresses: [NODE] } };
    expect(outcome(mode, some, [CLIENT, '192.168.1.2:30080'])).toBe('untouched');
    expect(outcome(mode, some, [CLIENT, `${NODE}:30080`])).toBe('to 10.0.0.1 M');
  });
});
