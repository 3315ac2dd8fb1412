import { describe, expect, test } from 'vitest';
import { endpointString } from './endpoint.ts';
import { EndpointSliceCache } from './endpoint-slice-cache.ts';
import type { ModelProblem } from './service-port.ts';
import { endpoint, slice } from './testing/objects.ts';

function newCache(nodeName = 'host1') {
  const problems: ModelProblem[] = [];
  const cache = new EndpointSliceCache({
    family: 'IPv4',
    nodeName,
    report: (problem) => problems.push(problem),
  });
  const strings = (port = '', protocol = 'TCP') =>
    cache.endpoints('default/web', port, protocol).map(endpointString);
  return { cache, problems, strings };
}

const tenEndpoints = (unreadyEach: number, terminatingEach = 1000) =>
  Array.from({ length: 10 }, (_, i) => {
    const n = i + 1;
    const unready = n % unreadyEach === 0;
    const terminating = n % terminatingEach === 0;
    return endpoint(`10.0.1.${n}`, {
      ready: !unready && !terminating,
      serving: !unready,
      terminating,
    });
  });

describe('spec A.2.5', () => {
  test('local endpoints are those of this node', () => {
    const { cache, strings } = newCache();
    cache.update(
      slice({
        ports: [
          { name: 'port-0', port: 80, protocol: 'TCP' },
          { name: 'port-1', port: 443, protocol: 'TCP' },
        ],
        endpoints: [
          endpoint('10.0.1.1', { nodeName: 'host2' }),
          endpoint('10.0.1.2', { nodeName: 'host1' }),
          endpoint('10.0.1.3', { nodeName: 'HOST1' }),
        ],
      }),
    );
    cache.checkout();
    expect(strings('port-0')).toEqual(['10.0.1.1:80', '10.0.1.2:80', '10.0.1.3:80']);
    expect(
      cache
        .endpoints('default/web', 'port-1', 'TCP')
        .filter((e) => e.isLocal)
        .map(endpointString),
    ).toEqual(['10.0.1.2:443']);
    expect(cache.localReadyAddresses('default/web')).toBe(1);
  });

  test('an unnamed node has no local endpoints', () => {
    const { cache } = newCache('');
    cache.update(slice({ endpoints: [endpoint('10.0.1.1', { nodeName: '' })] }));
    cache.checkout();
    expect(cache.endpoints('default/web', '', 'TCP')[0]!.isLocal).toBe(false);
    expect(cache.localReadyAddresses('default/web')).toBe(0);
  });

  test('two slices add up, a second version replaces the first', () => {
    const { cache, strings } = newCache();
    cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.1'), endpoint('10.0.1.2')] }));
    cache.update(slice({ name: 's2', endpoints: [endpoint('10.0.2.1')] }));
    cache.checkout();
    expect(strings()).toEqual(['10.0.1.1:8080', '10.0.1.2:8080', '10.0.2.1:8080']);
    cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.9')] }));
    cache.checkout();
    expect(strings()).toEqual(['10.0.1.9:8080', '10.0.2.1:8080']);
    cache.delete('default', 's1');
    cache.checkout();
    expect(strings()).toEqual(['10.0.2.1:8080']);
    cache.delete('default', 's2');
    cache.checkout();
    expect(strings()).toEqual([]);
  });

  test('endpoints are sorted as strings', () => {
    const { cache, strings } = newCache();
    cache.update(slice({ endpoints: tenEndpoints(6, 5) }));
    cache.checkout();
    expect(strings()).toEqual(
      ['10', '1', '2', '3', '4', '5', '6', '7', '8', '9'].map((n) => `10.0.1.${n}:8080`),
    );
    const of = (ip: string) => cache.endpoints('default/web', '', 'TCP').find((e) => e.ip === ip)!;
    expect(of('10.0.1.6')).toMatchObject({ isReady: false, isServing: false, isTerminating: false });
    expect(of('10.0.1.10')).toMatchObject({ isReady: false, isServing: true, isTerminating: true });
  });

  test('absent conditions mean ready', () => {
    const { cache } = newCache();
    cache.update(slice({ endpoints: [endpoint('10.0.1.1')] }));
    cache.checkout();
    const conditions = { isReady: true, isServing: true, isTerminating: false };
    expect(cache.endpoints('default/web', '', 'TCP')).toMatchObject([conditions]);
  });

  test('ports without a name or number are passed over', () => {
    const { cache, strings } = newCache();
    cache.update(
      slice({
        ports: [
          { name: '', port: undefined, protocol: 'TCP' },
          { name: '', port: 0, protocol: 'TCP' },
          { name: undefined, port: 8080, protocol: 'TCP' },
          { name: 'other', port: 9090, protocol: 'TCP' },
        ],
        endpoints: [endpoint('10.0.1.1')],
      }),
    );
    cache.checkout();
    expect(strings()).toEqual([]);
    expect(strings('other')).toEqual(['10.0.1.1:9090']);
  });

  test('one address under one port name with two numbers is two endpoints', () => {
    const { cache, strings } = newCache();
    cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.1')] }));
    cache.update(
      slice({
        name: 's2',
        ports: [{ name: '', port: 80, protocol: 'TCP' }],
        endpoints: [endpoint('10.0.1.1')],
      }),
    );
    cache.checkout();
    expect(strings()).toEqual(['10.0.1.1:80', '10.0.1.1:8080']);
  });

  test('of duplicates one that is not terminating wins, in either order', () => {
    const copies = [
      endpoint('10.0.1.1', { ready: false, serving: true, terminating: true }),
      endpoint('10.0.1.1', { ready: true }),
      endpoint('10.0.1.1', { ready: false, serving: false, terminating: true }),
    ];
    for (const endpoints of [copies, copies.toReversed()]) {
      const { cache } = newCache();
      cache.update(slice({ endpoints }));
      cache.checkout();
      expect(cache.endpoints('default/web', '', 'TCP')).toMatchObject([
        { isReady: true, isTerminating: false },
      ]);
    }
  });
});

describe('what counts as a change', () => {
  test('an object delivered again does not, a new version does', () => {
    const { cache } = newCache();
    const object = slice({ endpoints: [endpoint('10.0.1.1')] });
    expect(cache.update(object)).toEqual(['default/web']);
    expect(cache.update({ ...object })).toEqual([]);
    cache.checkout();
    expect(cache.update({ ...object })).toEqual([]);
    expect(cache.update({ ...object, endpoints: [] })).toEqual(['default/web']);
    const versioned = { ...object, resourceVersion: '7' };
    expect(cache.update(versioned)).toEqual(['default/web']);
    expect(cache.update({ ...versioned })).toEqual([]);
  });

  test('slices of other families, without owner, or unknown do not', () => {
    const { cache } = newCache();
    expect(cache.update(slice({ addressType: 'FQDN' }))).toEqual([]);
    expect(cache.update(slice({ addressType: 'IPv6' }))).toEqual([]);
    expect(cache.update(slice({ serviceName: '' }))).toEqual([]);
    expect(cache.delete('default', 'never-seen')).toEqual([]);
    expect(cache.checkout().size).toBe(0);
  });

  test('a slice that moves to another Service stays with the old one until it is deleted', () => {
    const { cache, strings } = newCache();
    cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.1')] }));
    cache.checkout();
    const moved = slice({ name: 's1', serviceName: 'other', endpoints: [endpoint('10.0.1.2')] });
    expect(cache.update(moved)).toEqual(['default/other']);
    cache.checkout();
    expect(strings()).toEqual(['10.0.1.1:8080']);
    expect(cache.endpoints('default/other', '', 'TCP').map(endpointString)).toEqual(['10.0.1.2:8080']);
    expect(cache.delete('default', 's1')).toEqual(['default/other', 'default/web']);
    cache.checkout();
    expect(strings()).toEqual([]);
    expect(cache.endpoints('default/other', '', 'TCP')).toEqual([]);
  });

  test('a slice that loses its label leaves its Service', () => {
    const { cache, strings } = newCache();
    cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.1')] }));
    cache.checkout();
    expect(cache.update(slice({ name: 's1', serviceName: '' }))).toEqual(['default/web']);
    cache.checkout();
    expect(strings()).toEqual([]);
  });

  test.each([
    ['UDP', true],
    ['TCP', false],
    ['SCTP', false],
  ])('a change of %s ports needs a look at conntrack: %j', (protocol, hasUdp) => {
    const { cache } = newCache();
    cache.update(slice({ ports: [{ name: '', port: 53, protocol }], endpoints: [endpoint('10.0.1.1')] }));
    expect(cache.checkout().get('default/web')).toEqual({ hasUdp });
    cache.delete('default', 'web-1');
    expect(cache.checkout().get('default/web')).toEqual({ hasUdp });
  });
});

test('pending slices are counted once each', () => {
  const { cache } = newCache();
  cache.update(slice({ name: 's1', endpoints: [endpoint('10.0.1.1')] }));
  cache.update(slice({ name: 's1', endpoints: [] }));
  cache.update(slice({ name: 's2' }));
  expect(cache.pendingCount).toBe(2);
  cache.checkout();
  expect(cache.pendingCount).toBe(0);
});

test('addresses of the wrong family are left out alone and named once', () => {
  const { cache, problems, strings } = newCache();
  cache.update(
    slice({
      endpoints: [endpoint('fd00::1'), endpoint('10.0.1.1'), endpoint(''), endpoint('backend.example')],
    }),
  );
  cache.checkout();
  expect(strings()).toEqual(['10.0.1.1:8080']);
  expect(problems).toEqual([
    {
      kind: 'EndpointSlice',
      namespace: 'default',
      name: 'web-1',
      field: 'endpoints.addresses',
      reason: '"fd00::1" is no IPv4 address (and 1 more)',
    },
  ]);
});

test('local ready addresses are counted once over all ports', () => {
  const { cache } = newCache();
  const local = { nodeName: 'host1' };
  cache.update(
    slice({
      name: 's1',
      ports: [
        { name: 'p11', port: 11, protocol: 'UDP' },
        { name: 'p12', port: 12, protocol: 'UDP' },
      ],
      endpoints: [endpoint('1.1.1.1', { nodeName: 'host2' }), endpoint('1.1.1.2', local)],
    }),
  );
  cache.update(
    slice({
      name: 's2',
      endpoints: [
        endpoint('1.1.1.2', local),
        endpoint('1.1.1.3', { ...local, ready: false, serving: true, terminating: true }),
      ],
    }),
  );
  cache.checkout();
  expect(cache.localReadyAddresses('default/web')).toBe(1);
});
