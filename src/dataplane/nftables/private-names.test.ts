import { expect, test } from 'vitest';
import type { ServicePort } from '../../model/service-port.ts';
import { endpointBase, servicePortBase } from './private-names.ts';

const port = (namespace: string, name: string, portName: string, protocol = 'TCP') =>
  ({ namespace, name, portName, protocol }) as ServicePort;

test.each([
  [port('testing', 'service', 'http'), 'P4ZYZVCF-testing/service/tcp/http'],
  [port('testing', 'service', 'https'), 'LZBRENCP-testing/service/tcp/https'],
  [port('ns1', 'svc1', 'p80'), 'ULMVA6XW-ns1/svc1/tcp/p80'],
  [port('ns2', 'svc2', 'p8080'), 'MHHHYRWA-ns2/svc2/tcp/p8080'],
  [port('ns1', 'svc1', ''), '6KJ5P52A-ns1/svc1/tcp/'],
])('spec A7: ServicePort %#', (input, base) => {
  expect(servicePortBase(input)).toBe(base);
});

test.each([
  ['10.180.0.1', 80, 'JO2XBXZR-testing/service/tcp/http__10.180.0.1/80'],
  ['10.180.0.2', 80, '5S6H3H22-testing/service/tcp/http__10.180.0.2/80'],
  [
    'fd80:abcd:12::a1b2:c3d4:e5f6:9999',
    80,
    'U7E2ET36-testing/service/tcp/http__fd80.abcd.12..a1b2.c3d4.e5f6.9999/80',
  ],
])('spec A7: endpoint %s', (ip, number, base) => {
  expect(endpointBase(port('testing', 'service', 'http'), { ip, port: number })).toBe(base);
});

test('long names are cut and stay different', () => {
  const long = port('n'.repeat(63), 's'.repeat(63), 'p'.repeat(63), 'SCTP');
  expect(servicePortBase(long)).toHaveLength(205);
  const one = endpointBase(long, { ip: '1234:5678:9abc:def0::abcd:1234:5678', port: 443 });
  const other = endpointBase(long, { ip: '1234:5678:9abc:def0::abcd:1234:5679', port: 443 });
  expect(one).toHaveLength(240);
  expect(one.endsWith('...')).toBe(true);
  expect(one.slice(9)).toBe(other.slice(9));
  expect(one).not.toBe(other);
});
