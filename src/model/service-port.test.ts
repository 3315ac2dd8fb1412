import { describe, expect, test } from 'vitest';
import { formatCidr } from '../base/ip.ts';
import type { Service } from '../kube/service.ts';
import {
  isExternallyAccessible,
  type ModelProblem,
  servicePortsOf,
  usesClusterEndpoints,
  usesLocalEndpoints,
} from './service-port.ts';
import { service } from './testing/objects.ts';

const mixed = {
  type: '',
  externalIPs: ['8.8.8.8', '2001:4860:4860::8888'],
  loadBalancerSourceRanges: ['0.0.0.0/1', '2001:db8::/32'],
  loadBalancerIngress: [
    { ip: '8.8.8.8', ipMode: '' },
    { ip: '2001:4860:4860::8888', ipMode: '' },
  ],
} satisfies Partial<Service>;

function read(object: Service, family: 'IPv4' | 'IPv6' = 'IPv4') {
  const problems: ModelProblem[] = [];
  const ports = servicePortsOf(object, family, (problem) => problems.push(problem));
  return { ports, problems, first: ports === undefined ? undefined : [...ports.values()][0] };
}

describe('servicePortsOf: spec A.1.9', () => {
  test.each([
    ['headless', service({ clusterIP: 'None' })],
    [
      'without ClusterIP, even where clusterIPs is filled',
      service({ clusterIP: '', clusterIPs: ['10.0.0.1'] }),
    ],
    ['ExternalName with a ClusterIP', service({ type: 'ExternalName', clusterIP: '172.16.55.4' })],
    ['IPv6 only', service({ clusterIP: '2000::1' })],
    [
      'single-stack IPv6 by ipFamilies',
      service({ clusterIP: '2000::1', clusterIPs: ['2000::1'], ipFamilies: ['IPv6'] }),
    ],
  ])('%s is not served in IPv4', (_, object) => {
    expect(read(object).ports).toBeUndefined();
  });

  test('each port of a Service is a ServicePort with a key of its own', () => {
    const { ports } = read(
      service({
        clusterIP: '172.16.55.4',
        ports: [
          { name: 'p1', protocol: 'UDP', port: 1234 },
          { name: 'p2', protocol: 'UDP', port: 1235 },
        ],
      }),
    );
    expect([...ports!.keys()]).toEqual(['default/web:p1/UDP', 'default/web:p2/UDP']);
    expect([...ports!.values()].map((port) => `${port.clusterIP}:${port.port}/${port.protocol}`)).toEqual([
      '172.16.55.4:1234/UDP',
      '172.16.55.4:1235/UDP',
    ]);
  });

  test('one name with two protocols is two ports', () => {
    const { ports } = read(
      service({
        ports: [
          { name: 'dns', protocol: 'UDP', port: 53 },
          { name: 'dns', port: 53 },
        ],
      }),
    );
    expect(ports!.size).toBe(2);
  });

  test('no ports is an empty map, not an absent one', () => {
    expect(read(service({ ports: [] })).ports).toEqual(new Map());
  });

  test('only ingress addresses in VIP mode count', () => {
    const lb = (ipMode: string) =>
      read(
        service({
          type: 'LoadBalancer',
          loadBalancerIngress: [
            { ip: '10.1.2.4', ipMode },
            { ip: '', ipMode: '' },
          ],
        }),
      ).first!;
    expect(lb('').loadBalancerVIPs).toEqual(['10.1.2.4']);
    expect(lb('VIP').loadBalancerVIPs).toEqual(['10.1.2.4']);
    expect(lb('Proxy').loadBalancerVIPs).toEqual([]);
  });

  test('mixed families, IPv4', () => {
    const port = read(service({ ...mixed, clusterIP: '10.0.0.10' })).first!;
    expect([port.externalIPs, port.loadBalancerSourceRanges.map(formatCidr), port.loadBalancerVIPs]).toEqual([
      ['8.8.8.8'],
      ['0.0.0.0/1'],
      ['8.8.8.8'],
    ]);
  });

  test('mixed families, IPv6', () => {
    const port = read(service({ ...mixed, clusterIP: 'fd00::10' }), 'IPv6').first!;
    expect([port.externalIPs, port.loadBalancerSourceRanges.map(formatCidr), port.loadBalancerVIPs]).toEqual([
      ['2001:4860:4860::8888'],
      ['2001:db8::/32'],
      ['2001:4860:4860::8888'],
    ]);
  });

  test('dual stack takes the address at the index of the family', () => {
    const object = service({
      clusterIP: '2000::1',
      clusterIPs: ['2000::1', '10.0.0.10'],
      ipFamilies: ['IPv6', 'IPv4'],
    });
    expect(read(object).first!.clusterIP).toBe('10.0.0.10');
    expect(read(object, 'IPv6').first!.clusterIP).toBe('2000::1');
    expect(
      read(
        service({ clusterIP: '10.0.0.10', clusterIPs: ['10.0.0.10'], ipFamilies: ['IPv4', 'IPv6'] }),
        'IPv6',
      ).ports,
    ).toBeUndefined();
  });

  test('leading zeros are decimal', () => {
    const port = read(
      service({
        clusterIP: '10.96.000.030',
        externalIPs: ['198.051.100.011'],
        loadBalancerSourceRanges: [' 203.000.113.000/24 '],
      }),
    ).first!;
    expect([port.clusterIP, port.externalIPs, port.loadBalancerSourceRanges.map(formatCidr)]).toEqual([
      '10.96.0.30',
      ['198.51.100.11'],
      ['203.0.113.0/24'],
    ]);
  });

  test.each([
    [['172.10.0.0/16', '0.0.0.0/0'], []],
    [['172.10.0.0/16', '::/0'], ['172.10.0.0/16']],
    [['nonsense', ''], []],
  ])('source ranges %j become %j', (ranges, expected) => {
    expect(
      read(service({ loadBalancerSourceRanges: ranges })).first!.loadBalancerSourceRanges.map(formatCidr),
    ).toEqual(expected);
  });
});

describe('policies and predicates: spec A.1.5', () => {
  test.each([
    ['LoadBalancer', [], true],
    ['NodePort', [], true],
    ['ClusterIP', [], false],
    ['ClusterIP', ['2001:db8::1'], true],
    ['', ['1.2.3.4'], false],
  ])(
    'externalTrafficPolicy Local of type %j with externalIPs %j counts: %j',
    (type, externalIPs, expected) => {
      expect(
        read(service({ type, externalIPs, externalTrafficPolicy: 'Local' })).first!.externalPolicyLocal,
      ).toBe(expected);
    },
  );

  test('health check node port', () => {
    const lb = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
    expect(read(service({ ...lb, healthCheckNodePort: 345 })).first!.healthCheckNodePort).toBe(345);
    expect(
      read(service({ ...lb, type: 'NodePort', healthCheckNodePort: 345 })).first!.healthCheckNodePort,
    ).toBe(0);
    const missing = read(service(lb));
    expect(missing.first!.healthCheckNodePort).toBe(0);
    expect(missing.problems.map((problem) => problem.field)).toEqual(['spec.healthCheckNodePort']);
  });

  test('affinity time-out defaults to three hours', () => {
    expect(read(service({ sessionAffinity: 'ClientIP' })).first!.affinityTimeoutSeconds).toBe(10_800);
    expect(
      read(service({ sessionAffinity: 'ClientIP', affinityTimeoutSeconds: 7 })).first!.affinityTimeoutSeconds,
    ).toBe(7);
    expect(
      read(service({ sessionAffinity: 'None', affinityTimeoutSeconds: 7 })).first!.affinityTimeoutSeconds,
    ).toBe(0);
  });

  test('which lists are used', () => {
    const uses = (fields: Partial<Service>) => {
      const port = read(service(fields)).first!;
      return [isExternallyAccessible(port), usesClusterEndpoints(port), usesLocalEndpoints(port)];
    };
    expect(uses({})).toEqual([false, true, false]);
    expect(uses({ internalTrafficPolicy: 'Local' })).toEqual([false, false, true]);
    expect(uses({ internalTrafficPolicy: 'Local', externalIPs: ['2001:db8::1'] })).toEqual([
      true,
      true,
      true,
    ]);
    expect(uses({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' })).toEqual([false, true, false]);
  });
});

describe('objects that cannot be used', () => {
  test('a bad ClusterIP sets the Service aside', () => {
    const { ports, problems } = read(service({ clusterIP: '10.96.0.999' }));
    expect(ports).toBeUndefined();
    expect(problems).toEqual([
      {
        kind: 'Service',
        namespace: 'default',
        name: 'web',
        field: 'spec.clusterIPs',
        reason: '"10.96.0.999" is no IPv4 address',
      },
    ]);
  });

  test('bad ports and addresses are left out alone', () => {
    const { ports, problems } = read(
      service({
        externalIPs: ['nonsense', '', '1.2.3.4', '1.2.3.4'],
        ports: [
          { name: 'a', port: 0 },
          { name: 'b', protocol: 'QUIC' },
          { name: 'c', nodePort: 70_000 },
          { name: 'd', port: 65_535 },
        ],
      }),
    );
    expect([...ports!.keys()]).toEqual(['default/web:c/TCP', 'default/web:d/TCP']);
    expect(ports!.get('default/web:c/TCP')).toMatchObject({ nodePort: 0, externalIPs: ['1.2.3.4'] });
    expect(problems.map((problem) => problem.field)).toEqual([
      'spec.externalIPs',
      'spec.ports[0].port',
      'spec.ports[1].protocol',
      'spec.ports[2].nodePort',
    ]);
  });
});
