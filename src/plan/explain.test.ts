import { expect, test } from 'vitest';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import { endpoint, type ServiceFields, service, slice } from '../model/testing/objects.ts';
import { explainConnection } from './explain.ts';
import { Planner } from './planner.ts';
import { settings } from './testing/settings.ts';

const NODE = '192.168.0.2';

function explain(
  fields: ServiceFields,
  endpoints: ReturnType<typeof endpoint>[],
  to: [string, number],
  source?: string,
) {
  const services = new ServiceChangeTracker('IPv4', () => {});
  const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node1', report: () => {} });
  services.update(service({ clusterIP: '172.30.0.1', ...fields }));
  slices.update(slice({ endpoints }));
  services.checkout();
  slices.checkout();
  const input = { services: services.services, endpoints: slices.endpoints.bind(slices) };
  const plan = new Planner(settings(), () => {}).replan(input, settings());
  const [ip, port] = to;
  return explainConnection(
    { destination: { ip, port, protocol: 'TCP' }, source },
    { plan, mode: 'nftables', nodeAddresses: [NODE] },
  );
}

const lb = {
  type: 'LoadBalancer',
  loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }],
  ports: [{ nodePort: 30_080 }],
};
const here = endpoint('10.0.0.1', { nodeName: 'node1' });
const there = endpoint('10.0.0.2', { nodeName: 'node2' });

test('a ClusterIP', () => {
  expect(explain({}, [here, there], ['172.30.0.1', 80], '10.0.0.9')).toEqual([
    '172.30.0.1:80/TCP is the ClusterIP of default/web',
    'goes to one of 2: 10.0.0.1:8080, 10.0.0.2:8080',
    "  the endpoint sees the client's own address",
  ]);
});

test('endpoints that are not used, and why', () => {
  const unready = endpoint('10.0.0.3', { ready: false, serving: false });
  const leaving = endpoint('10.0.0.4', { ready: false, serving: true, terminating: true });
  expect(explain({}, [here, unready, leaving], ['172.30.0.1', 80]).slice(2)).toEqual([
    '  the endpoint sees an address of this node as the client',
    'not used, not ready: 10.0.0.3:8080',
    'not used, terminating while others are ready: 10.0.0.4:8080',
  ]);
});

test.each([
  [['172.30.0.1', 81], '172.30.0.1:81/TCP: rejected: the ClusterIP of default/web, which has only 80/TCP'],
  [
    ['172.30.0.9', 80],
    '172.30.0.9:80/TCP: dropped: no Service has this address of the service network 172.30.0.0/16',
  ],
  [
    ['8.8.8.8', 53],
    '8.8.8.8:53/TCP: not touched: no Service has this address and port, the packet is routed as it is',
  ],
] as [[string, number], string][])('what no Service has: %j', (to, line) => {
  expect(explain({}, [here], to)).toEqual([line]);
});

test('no endpoints at all', () => {
  expect(explain(lb, [], [NODE, 30_080])[1]).toBe('rejected: the Service has no usable endpoint anywhere');
});

test('policy Local without an endpoint here', () => {
  const local = { ...lb, externalTrafficPolicy: 'Local' };
  expect(explain(local, [there], ['1.2.3.4', 80])[1]).toBe(
    'dropped: externalTrafficPolicy is Local and no endpoint is on this node',
  );
  expect(explain(local, [there], ['1.2.3.4', 80], '10.0.0.9').slice(1, 3)).toEqual([
    'externalTrafficPolicy is Local, but the connection comes from a pod of this node: it may use the whole cluster',
    'goes to one of 1: 10.0.0.2:8080',
  ]);
  expect(explain({ internalTrafficPolicy: 'Local' }, [there], ['172.30.0.1', 80])[1]).toBe(
    'dropped: internalTrafficPolicy is Local and no endpoint is on this node',
  );
});

test('source ranges', () => {
  const ranged = { ...lb, loadBalancerSourceRanges: ['203.0.113.0/24'] };
  expect(explain(ranged, [here], ['1.2.3.4', 80], '198.51.100.1')[1]).toBe(
    'dropped: loadBalancerSourceRanges lets in 203.0.113.0/24 only',
  );
  expect(explain(ranged, [here], ['1.2.3.4', 80], '203.0.113.7')[1]).toBe('goes to one of 1: 10.0.0.1:8080');
});

test('a pod that may reach itself', () => {
  expect(explain({}, [here, there], ['172.30.0.1', 80], '10.0.0.1').slice(2)).toEqual([
    "  the endpoint sees the client's own address",
    '  where it is the client itself, it sees an address of this node',
  ]);
});
