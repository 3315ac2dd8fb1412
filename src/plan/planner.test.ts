import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import type { ModelProblem } from '../model/service-port.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { Planner } from './planner.ts';
import { frontendVerdict } from './proxy-plan.ts';
import { settings } from './testing/settings.ts';

function newNode() {
  const problems: ModelProblem[] = [];
  const services = new ServiceChangeTracker('IPv4', () => {});
  const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node1', report: () => {} });
  const planner = new Planner(settings(), (problem) => problems.push(problem));
  const input = {
    services: services.services,
    endpoints: (key: string, port: string, protocol: string) => slices.endpoints(key, port, protocol),
  };
  const sync = () =>
    planner.update(input, new Set([...services.checkout().keys(), ...slices.checkout().keys()]));
  const frontendsOf = (key: string) => planner.plan.servicePorts.get(key)?.frontends.map((f) => f.kind) ?? [];
  return { services, slices, planner, input, sync, frontendsOf, problems };
}

test('only touched ServicePorts are looked at again', () => {
  const node = newNode();
  node.services.update(service({ name: 'a', clusterIP: '10.96.0.1' }));
  node.services.update(service({ name: 'b', clusterIP: '10.96.0.2' }));
  expect(node.sync()).toHaveLength(2);
  const untouched = node.planner.plan.servicePorts.get('default/b/TCP');
  node.slices.update(slice({ serviceName: 'a', endpoints: [endpoint('10.0.0.1')] }));
  expect(node.sync().map((change) => [change.before?.key, change.after?.endpoints.length])).toEqual([
    ['default/a/TCP', 1],
  ]);
  expect(node.planner.plan.servicePorts.get('default/b/TCP')).toBe(untouched);
});

describe('a destination that two Services claim', () => {
  const older = service({
    name: 'z-older',
    clusterIP: '10.96.0.1',
    externalIPs: ['1.2.3.4'],
    creationTimestamp: 1,
  });
  const younger = service({
    name: 'a-younger',
    clusterIP: '10.96.0.2',
    externalIPs: ['1.2.3.4'],
    creationTimestamp: 2,
  });

  test.each([[[older, younger]], [[younger, older]]])('belongs to the older, in any order', (order) => {
    const node = newNode();
    for (const object of order) {
      node.services.update(object);
      node.sync();
    }
    expect(node.frontendsOf('default/z-older/TCP')).toEqual(['ClusterIP', 'ExternalIP']);
    expect(node.frontendsOf('default/a-younger/TCP')).toEqual(['ClusterIP']);
    expect(node.problems.at(-1)).toMatchObject({
      name: 'a-younger',
      reason: expect.stringContaining('1.2.3.4:80/TCP'),
    });
  });

  test('passes on when the owner goes', () => {
    const node = newNode();
    node.services.update(older);
    node.services.update(younger);
    node.sync();
    node.services.delete('default', 'z-older');
    expect(
      node
        .sync()
        .map((change) => change.after?.key ?? 'gone')
        .sort(),
    ).toEqual(['default/a-younger/TCP', 'gone']);
    expect(node.frontendsOf('default/a-younger/TCP')).toEqual(['ClusterIP', 'ExternalIP']);
  });

  test('counts as lost as long as it is, and is reported once', () => {
    const node = newNode();
    const lost = () => [...node.planner.lostFrontends].map((problem) => problem.name);
    node.services.update(older);
    node.services.update(younger);
    node.sync();
    expect(lost()).toEqual(['a-younger']);
    node.planner.replan(node.input, settings());
    expect(node.problems).toHaveLength(1);
    node.services.delete('default', 'z-older');
    node.sync();
    expect(lost()).toEqual([]);
    node.services.update(older);
    node.sync();
    node.services.delete('default', 'a-younger');
    node.sync();
    expect(lost()).toEqual([]);
    expect(node.problems).toHaveLength(2);
  });

  test('goes to a Service that has endpoints, as long as it has', () => {
    const node = newNode();
    const claim = { externalIPs: ['1.2.3.4'] };
    node.services.update(service({ name: 'old', clusterIP: '10.96.0.1', creationTimestamp: 1, ...claim }));
    node.services.update(service({ name: 'new', clusterIP: '10.96.0.2', creationTimestamp: 2, ...claim }));
    const owner = () =>
      ['old', 'new'].filter((name) => node.frontendsOf(`default/${name}/TCP`).includes('ExternalIP'));
    const slices = (serviceName: string, ready: boolean) =>
      node.slices.update(slice({ serviceName, endpoints: [endpoint('10.0.0.1', { ready })] }));
    node.sync();
    expect(owner()).toEqual(['old']);
    slices('new', true);
    node.sync();
    expect(owner()).toEqual(['new']);
    slices('old', true);
    node.sync();
    expect(owner()).toEqual(['old']);
    slices('old', false);
    node.sync();
    expect(owner()).toEqual(['new']);
    slices('new', false);
    node.sync();
    expect(owner()).toEqual(['old']);
  });

  test('is never taken from a ClusterIP', () => {
    const node = newNode();
    node.services.update(
      service({ name: 'a-thief', clusterIP: '10.96.0.1', externalIPs: ['10.96.0.2'], creationTimestamp: 1 }),
    );
    node.services.update(service({ name: 'victim', clusterIP: '10.96.0.2', creationTimestamp: 5 }));
    node.sync();
    expect(node.frontendsOf('default/a-thief/TCP')).toEqual(['ClusterIP']);
    expect(node.frontendsOf('default/victim/TCP')).toEqual(['ClusterIP']);
  });

  test('with another port or protocol is another destination', () => {
    const node = newNode();
    node.services.update(
      service({ name: 'a', clusterIP: '10.96.0.1', externalIPs: ['1.2.3.4'], ports: [{ port: 53 }] }),
    );
    node.services.update(
      service({
        name: 'b',
        clusterIP: '10.96.0.2',
        externalIPs: ['1.2.3.4'],
        ports: [{ port: 53, protocol: 'UDP' }],
      }),
    );
    node.sync();
    expect(node.frontendsOf('default/a/TCP')).toContain('ExternalIP');
    expect(node.frontendsOf('default/b/UDP')).toContain('ExternalIP');
  });
});

test('verdicts: spec A.3.3', () => {
  const verdicts = (fields: object, nodeName?: string) => {
    const node = newNode();
    node.services.update(service({ type: 'NodePort', ports: [{ nodePort: 30_080 }], ...fields }));
    if (nodeName !== undefined)
      node.slices.update(slice({ endpoints: [endpoint('10.0.0.1', { nodeName })] }));
    node.sync();
    const plan = node.planner.plan.servicePorts.get('default/web/TCP')!;
    return [frontendVerdict(plan, 'ClusterIP'), frontendVerdict(plan, 'NodePort')];
  };
  expect(verdicts({})).toEqual(['reject', 'reject']);
  expect(verdicts({}, 'node2')).toEqual(['forward', 'forward']);
  expect(verdicts({ externalTrafficPolicy: 'Local' }, 'node2')).toEqual(['forward', 'drop']);
  expect(verdicts({ externalTrafficPolicy: 'Local' }, 'node1')).toEqual(['forward', 'forward']);
  expect(verdicts({ internalTrafficPolicy: 'Local' }, 'node2')).toEqual(['drop', 'forward']);
  expect(verdicts({ internalTrafficPolicy: 'Local' })).toEqual(['reject', 'reject']);
});

test('any sequence of updates ends in the plan that planning from scratch makes', () => {
  const objects = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    clusterIP: fc.constantFrom('10.96.0.1', '10.96.0.2', 'None'),
    externalIPs: fc.subarray(['1.2.3.4', '10.96.0.1', '1.2.3.5']),
    creationTimestamp: fc.integer({ min: 0, max: 2 }),
    internalTrafficPolicy: fc.constantFrom('', 'Local'),
    ports: fc.subarray([
      { name: 'x', port: 80, nodePort: 30_080 },
      { name: 'y', port: 81 },
      { name: 'z', port: 80, protocol: 'UDP' },
    ]),
  });
  const events = fc.oneof(
    fc.record({ kind: fc.constant('service' as const), object: objects }),
    fc.record({ kind: fc.constant('delete' as const), name: fc.constantFrom('a', 'b', 'c') }),
    fc.record({
      kind: fc.constant('slice' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      ready: fc.array(fc.boolean(), { maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('sync' as const) }),
  );
  fc.assert(
    fc.property(fc.array(events, { maxLength: 30 }), (sequence) => {
      const node = newNode();
      for (const event of sequence) {
        if (event.kind === 'service') node.services.update(service(event.object));
        else if (event.kind === 'delete') node.services.delete('default', event.name);
        else if (event.kind === 'slice') {
          const endpoints = event.ready.map((ready, i) =>
            endpoint(`10.0.0.${i}`, { ready, nodeName: i === 1 ? 'node1' : 'node2' }),
          );
          node.slices.update(
            slice({
              serviceName: event.name,
              ports: [{ name: 'x', port: 8080, protocol: 'TCP' }],
              endpoints,
            }),
          );
        } else node.sync();
      }
      node.sync();
      const fresh = new Planner(settings(), () => {}).replan(node.input, settings());
      const sorted = (ports: ReadonlyMap<string, unknown>) => [...ports].sort(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(node.planner.plan.servicePorts)).toEqual(sorted(fresh.servicePorts));
    }),
    { numRuns: 300 },
  );
});
