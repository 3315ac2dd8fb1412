import { expect, test } from 'vitest';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import { endpoint, type ServiceFields, service, slice } from '../model/testing/objects.ts';
import { Planner } from './planner.ts';
import { printPlan } from './print-plan.ts';
import { settings } from './testing/settings.ts';

test('prints what is served where', () => {
  const services = new ServiceChangeTracker('IPv4', () => {});
  const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node1', report: () => {} });
  const add = (fields: ServiceFields, ...endpoints: ReturnType<typeof endpoint>[]) => {
    services.update(service(fields));
    slices.update(slice({ serviceName: fields.name ?? 'web', endpoints }));
  };
  add({ name: 'empty', clusterIP: '10.96.0.1', ports: [{ name: 'http' }] });
  add(
    {
      name: 'lb',
      clusterIP: '10.96.0.2',
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 32_000,
      ports: [{ nodePort: 30_080 }],
    },
    endpoint('10.0.0.2', { nodeName: 'node2' }),
  );
  add(
    { name: 'web', clusterIP: '10.96.0.3', sessionAffinity: 'ClientIP' },
    endpoint('10.0.0.3', { nodeName: 'node1' }),
    endpoint('10.0.0.4'),
  );
  services.checkout();
  slices.checkout();
  const input = { services: services.services, endpoints: slices.endpoints.bind(slices) };
  const plan = new Planner(settings({ zone: 'a' }), () => {}).replan(input, settings({ zone: 'a' }));
  expect(printPlan(plan)).toBe(`IPv4 on node node1, zone a
  node ports on all addresses; service networks 172.30.0.0/16; local traffic by source 10.0.0.0/8
default/empty:http/TCP
  ClusterIP      10.96.0.1:80                    rejected: no endpoints
default/lb/TCP  (externalTrafficPolicy Local, health check on 32000)
  ClusterIP      10.96.0.2:80                    to 10.0.0.2:8080
  NodePort       *:30080                         dropped from outside: no endpoint on this node; from here to 10.0.0.2:8080
default/web/TCP  (ClientIP affinity 10800 s)
  ClusterIP      10.96.0.3:80                    to 10.0.0.3:8080 (here), 10.0.0.4:8080
`);
});
