import type { TestObject } from './api-server-process.ts';
import { service, slice } from './objects.ts';

/** An object that is odd or broken in one way, and what has to come of it. */
export interface BrokenCase {
  readonly objects: readonly TestObject[];
  /** Addresses with the servers that have to answer there, all of them and no other. */
  readonly answers?: Readonly<Record<string, readonly string[]>>;
  /** Addresses at which nobody may answer. */
  readonly silent?: readonly string[];
  /** Namespace and name of the object that the log has to name, with what is wrong; absent where nothing is. */
  readonly named?: { readonly object: string; readonly reason: RegExp };
  /**
   * What the API server would refuse is refused in a manifest as well: as a whole, with a line that names the object
   * so and says this. Then nobody answers at its addresses.
   */
  readonly manifest?: { readonly object: string; readonly problem: RegExp };
}

const A = '10.244.1.2';
const B = '10.244.1.3';
const ready = { conditions: { ready: true }, nodeName: 'node1' };

/** A slice with other fields. */
function oddSlice(serviceName: string, name: string, fields: Readonly<Record<string, unknown>>): TestObject {
  return slice(serviceName, [A], { name, fields });
}

const long = (length: number, last: string) => `${'n'.repeat(length - 1)}${last}`;

function longNames(last: string, clusterIP: string, endpoint: string): TestObject[] {
  const namespace = long(63, 'x');
  const name = long(63, last);
  const web = service(name, clusterIP, { sessionAffinity: 'ClientIP', metadata: { namespace } });
  const spec = web['spec'] as { ports: { name: string }[] };
  const ports = spec.ports.map((port) => ({ ...port, name: long(15, 'p') }));
  const labels = { 'kubernetes.io/service-name': name };
  const ofSlice = slice(name, [endpoint], { name: `${name.slice(0, 50)}-${last}` });
  return [
    { ...web, spec: { ...spec, ports } },
    {
      ...ofSlice,
      metadata: { ...ofSlice.metadata, namespace, labels },
      ports: [{ name: long(15, 'p'), protocol: 'TCP', port: 8080 }],
    },
  ];
}

/** By the number of the case in the case log where it has one. */
export const brokenCases: Readonly<Record<string, BrokenCase>> = {
  'C70: one pod under two target ports': {
    objects: [
      service('c70', '10.96.1.70'),
      slice('c70', [A], { name: 'c70-1', port: 8080 }),
      slice('c70', [A], { name: 'c70-2', port: 8081 }),
    ],
    answers: { '10.96.1.70:80': [`${A}:8080`, `${A}:8081`] },
  },
  'C71: overlapping slices of two controllers': {
    objects: [
      service('c71', '10.96.1.71'),
      slice('c71', [A, B], { name: 'c71-1' }),
      slice('c71', [B, '10.244.1.13'], { name: 'c71-2' }),
    ],
    answers: { '10.96.1.71:80': [`${A}:8080`, `${B}:8080`, '10.244.1.13:8080'] },
  },
  'C74: slices with odd ports beside a healthy one': {
    objects: [
      service('c74', '10.96.1.74'),
      slice('c74', [B]),
      oddSlice('c74', 'c74-absent', { ports: undefined }),
      oddSlice('c74', 'c74-empty', { ports: [] }),
      oddSlice('c74', 'c74-number', { ports: [{ name: 'main', protocol: 'TCP' }] }),
      oddSlice('c74', 'c74-nil', { ports: [{}, {}] }),
      oddSlice('c74', 'c74-unnamed', { ports: [{ protocol: 'TCP', port: 8081 }] }),
      oddSlice('c74', 'c74-protocol', {
        ports: [{ name: 'main', port: 8080 }],
        endpoints: [{ ...ready, addresses: ['10.244.1.13'], hostname: 'h', zone: 'z' }],
      }),
    ],
    answers: { '10.96.1.74:80': [`${B}:8080`, '10.244.1.13:8080'] },
  },
  'C74: a port number of 0': {
    objects: [
      service('c74b', '10.96.2.74'),
      slice('c74b', [B]),
      oddSlice('c74b', 'c74b-zero', { ports: [{ name: 'main', protocol: 'TCP', port: 0 }] }),
    ],
    answers: { '10.96.2.74:80': [`${B}:8080`] },
    manifest: { object: 'EndpointSlice default/c74b-zero', problem: /ports\[0\]\.port/ },
  },
  'C75: a slice of addressType FQDN': {
    objects: [
      service('c75', '10.96.1.75'),
      slice('c75', [A]),
      slice('c75', ['backend.example.test'], { name: 'c75-fqdn', fields: { addressType: 'FQDN' } }),
    ],
    answers: { '10.96.1.75:80': [`${A}:8080`] },
  },
  'C77: an endpoint address of the other family': {
    objects: [
      service('c77', '10.96.1.77'),
      slice('c77', [A, 'fd00:244:1::3'], { fields: { addressType: 'IPv4' } }),
    ],
    answers: { '10.96.1.77:80': [`${A}:8080`] },
    named: { object: 'default/c77-1', reason: /fd00:244:1::3/ },
  },
  'C77: an endpoint address that is none': {
    objects: [service('c77b', '10.96.2.77'), slice('c77b', [A, '10.244.1.300', ''])],
    answers: { '10.96.2.77:80': [`${A}:8080`] },
    named: { object: 'default/c77b-1', reason: /10\.244\.1\.300/ },
  },
  'C78: addresses with leading zeros': {
    objects: [
      service('c78', '10.96.001.078', { spec: { externalIPs: ['203.000.113.011'] } }),
      slice('c78', ['10.244.001.002']),
    ],
    answers: { '10.96.1.78:80': [`${A}:8080`], '203.0.113.11:80': [`${A}:8080`] },
  },
  'C80: endpoints that are frontends': {
    objects: [
      service('c80', '10.96.1.80'),
      slice('c80', ['10.96.0.10'], { port: 80 }),
      service('c80b', '10.96.2.80'),
      slice('c80b', ['10.96.2.80'], { port: 80 }),
      service('c80c', '10.96.3.80'),
      slice('c80c', ['172.31.0.11'], { port: 30080 }),
    ],
  },
  'C82: a Service for another proxy': {
    objects: [
      service('c82', '10.96.1.82', {
        metadata: { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } },
      }),
      slice('c82', [A]),
    ],
    silent: ['10.96.1.82:80'],
  },
  'C84: named ports in several slices, one name missing': {
    objects: [
      service('c84', '10.96.1.84', {
        spec: {
          ports: [
            { name: 'web', protocol: 'TCP', port: 80, targetPort: 8080 },
            { name: 'mgmt', protocol: 'TCP', port: 9090, targetPort: 8081 },
          ],
        },
      }),
      oddSlice('c84', 'c84-1', {
        ports: [
          { name: 'web', protocol: 'TCP', port: 8080 },
          { name: 'admin', protocol: 'TCP', port: 8081 },
        ],
      }),
      slice('c84', [B], { name: 'c84-2', fields: { ports: [{ name: 'web', protocol: 'TCP', port: 8082 }] } }),
    ],
    answers: { '10.96.1.84:80': [`${A}:8080`, `${B}:8082`] },
    silent: ['10.96.1.84:9090'],
  },
  'C95: names of full length, and a twin that differs in the last letter': {
    objects: [...longNames('a', '10.96.1.95', A), ...longNames('b', '10.96.2.95', B)],
    answers: { '10.96.1.95:80': [`${A}:8080`], '10.96.2.95:80': [`${B}:8080`] },
  },
  'D01: what the API server would have filled in': {
    objects: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'd01', namespace: 'default' },
        spec: { clusterIP: '10.96.1.1', sessionAffinity: 'ClientIP', ports: [{ name: 'main', port: 80 }] },
      },
      slice('d01', [A]),
    ],
    answers: { '10.96.1.1:80': [`${A}:8080`] },
  },
  'D02: endpoints without conditions': {
    objects: [
      service('d02', '10.96.1.2'),
      slice('d02', [A], { fields: { endpoints: [{ addresses: [A] }, { addresses: [B], conditions: {} }] } }),
    ],
    answers: { '10.96.1.2:80': [`${A}:8080`, `${B}:8080`] },
  },
  'a ClusterIP that is none': {
    objects: [service('no-ip', '10.96.300.1'), slice('no-ip', [A])],
    named: { object: 'default/no-ip', reason: /10\.96\.300\.1/ },
    manifest: { object: 'Service default/no-ip', problem: /spec\.clusterIPs\[0\]/ },
  },
  'a Service port out of range': {
    objects: [
      service('no-port', '10.96.1.3', {
        spec: {
          ports: [
            { name: 'main', protocol: 'TCP', port: 80, targetPort: 8080 },
            { name: 'huge', protocol: 'TCP', port: 70_000, targetPort: 8080 },
          ],
        },
      }),
      slice('no-port', [A]),
    ],
    answers: { '10.96.1.3:80': [`${A}:8080`] },
    named: { object: 'default/no-port', reason: /70000/ },
    manifest: { object: 'Service default/no-port', problem: /spec\.ports\[1\]\.port/ },
  },
  'external addresses and ranges that are none': {
    objects: [
      service('no-external', '10.96.1.4', {
        spec: {
          type: 'LoadBalancer',
          externalIPs: ['not-an-ip', '203.0.113.4'],
          loadBalancerSourceRanges: ['172.31.0.0/24', 'everybody'],
        },
      }),
      slice('no-external', [A]),
    ],
    answers: { '10.96.1.4:80': [`${A}:8080`], '203.0.113.4:80': [`${A}:8080`] },
    named: { object: 'default/no-external', reason: /not-an-ip/ },
  },
  'an unknown protocol': {
    objects: [
      service('no-protocol', '10.96.1.5', {
        spec: {
          ports: [
            { name: 'main', protocol: 'TCP', port: 80, targetPort: 8080 },
            { name: 'odd', protocol: 'QUIC', port: 443, targetPort: 8080 },
          ],
        },
      }),
      slice('no-protocol', [A]),
    ],
    answers: { '10.96.1.5:80': [`${A}:8080`] },
    named: { object: 'default/no-protocol', reason: /QUIC/ },
    manifest: { object: 'Service default/no-protocol', problem: /spec\.ports\[1\]\.protocol/ },
  },
  'two Services with one node port': {
    objects: [
      service('twin-a', '10.96.1.6', {
        nodePort: 30100,
        metadata: { creationTimestamp: '2024-01-01T00:00:00Z' },
      }),
      slice('twin-a', [A]),
      service('twin-b', '10.96.1.7', {
        nodePort: 30100,
        metadata: { creationTimestamp: '2024-02-01T00:00:00Z' },
      }),
      slice('twin-b', [B]),
    ],
    answers: {
      '10.96.1.6:80': [`${A}:8080`],
      '10.96.1.7:80': [`${B}:8080`],
      '172.31.0.11:30100': [`${A}:8080`],
    },
    named: { object: 'default/twin-b', reason: /30100/ },
  },
  'a slice without a Service, a Service without a slice': {
    objects: [slice('nobody', [A], { name: 'orphan' }), service('empty', '10.96.1.8')],
    silent: ['10.96.1.8:80'],
  },
};
