import { expect, test } from 'vitest';
import { ServiceChangeTracker } from './service-change-tracker.ts';
import { service } from './testing/objects.ts';

const tracker = () => new ServiceChangeTracker('IPv4', () => {});

test('spec A.1.9: adding, changing and deleting Services', () => {
  const services = tracker();
  const two = [
    { name: 'a', port: 1 },
    { name: 'b', port: 2 },
  ];
  for (const name of ['s1', 's2', 's3', 's4']) services.update(service({ name, ports: two }));
  expect(services.pendingCount).toBe(4);
  expect([...services.checkout().keys()]).toEqual(['default/s1', 'default/s2', 'default/s3', 'default/s4']);
  expect([...services.services.values()].reduce((sum, ports) => sum + ports.size, 0)).toBe(8);

  services.update(service({ name: 's1', ports: [{ name: 'c', port: 1 }] }));
  for (const name of ['s2', 's3', 's4']) services.delete('default', name);
  expect(services.checkout().size).toBe(4);
  expect([...services.services.keys()]).toEqual(['default/s1']);
});

test('a change that is taken back leaves nothing pending', () => {
  const services = tracker();
  expect(services.update(service())).toBe(true);
  expect(services.delete('default', 'web')).toBe(false);
  services.update(service());
  services.checkout();
  expect(services.update(service())).toBe(false);
  expect(
    services.update(service({ type: 'LoadBalancer', loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }] })),
  ).toBe(true);
  expect(services.update(service())).toBe(false);
});

test('update says whether anything is pending, not only this change', () => {
  const services = tracker();
  services.update(service({ name: 'a' }));
  expect(services.update(service({ name: 'b', clusterIP: 'None' }))).toBe(true);
});

test('a Service that loses its address in this family is deleted', () => {
  const services = tracker();
  services.update(service());
  services.checkout();
  services.update(service({ clusterIP: 'None' }));
  expect([...services.checkout()]).toEqual([['default/web', { before: expect.any(Map), after: undefined }]]);
});

test('every field of a ServicePort counts as a change', () => {
  const changes = [
    { clusterIP: '10.96.0.11' },
    { ports: [{ port: 81 }] },
    { ports: [{ nodePort: 30_080 }] },
    { sessionAffinity: 'ClientIP' },
    { externalIPs: ['1.2.3.4'] },
    { externalIPs: ['2001:db8::1'] },
    { loadBalancerIngress: [{ ip: '1.2.3.4', ipMode: '' }] },
    { loadBalancerSourceRanges: ['10.0.0.0/8'] },
    { type: 'NodePort', externalTrafficPolicy: 'Local' },
    { internalTrafficPolicy: 'Local' },
    { creationTimestamp: 1 },
  ];
  for (const change of changes) {
    const services = tracker();
    services.update(service());
    services.checkout();
    expect(services.update(service(change)), JSON.stringify(change)).toBe(true);
  }
});
