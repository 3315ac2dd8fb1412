import { describe, expect, test } from 'vitest';
import { TestCluster } from '../dataplane/testing/test-cluster.ts';
import { NoLocalEndpoints } from './no-local-endpoints.ts';

const HERE = '10.0.0.1*';
const AWAY = '10.0.0.2';

function cluster(internal: 'Local' | 'Cluster', external: 'Local' | 'Cluster', addresses: readonly string[]) {
  return new TestCluster()
    .service('ns/svc', {
      type: 'NodePort',
      internalTrafficPolicy: internal,
      externalTrafficPolicy: external,
      ports: [{ nodePort: 30_000 }],
    })
    .slice('ns/svc', { '': '80' }, addresses);
}

const counts = ({ internal, external }: NoLocalEndpoints) => `${internal}/${external}`;

describe('ServicePorts whose traffic is dropped here', () => {
  test.each([
    ['Cluster', 'Cluster', [AWAY], '0/0'],
    ['Local', 'Local', [HERE, AWAY], '0/0'],
    ['Local', 'Cluster', [AWAY], '1/0'],
    ['Cluster', 'Local', [AWAY], '0/1'],
    ['Local', 'Local', [AWAY], '1/1'],
    ['Local', 'Local', [], '0/0'],
  ] as const)('internal %s, external %s, endpoints %j: %s', (internal, external, addresses, expected) => {
    const counter = new NoLocalEndpoints();
    counter.update(cluster(internal, external, addresses).plan(), undefined);
    expect(counts(counter)).toBe(expected);
  });

  test('a Service without external frontends drops nothing from outside', () => {
    const counter = new NoLocalEndpoints();
    const inside = new TestCluster()
      .service('ns/svc', { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' })
      .slice('ns/svc', { '': '80' }, [AWAY]);
    counter.update(inside.plan(), undefined);
    expect(counts(counter)).toBe('1/0');
  });

  test('changes count up and down', () => {
    const counter = new NoLocalEndpoints();
    const changing = cluster('Local', 'Local', [AWAY]);
    counter.update(changing.plan(), undefined);
    const follow = () => {
      const { plan, diff } = changing.update();
      counter.update(plan, diff);
      return counts(counter);
    };
    changing.slice('ns/svc', { '': '80' }, [HERE, AWAY]);
    expect(follow()).toBe('0/0');
    changing.slice('ns/svc', { '': '80' }, [AWAY]);
    expect(follow()).toBe('1/1');
    changing.slice('ns/svc', { '': '80' }, []);
    expect(follow()).toBe('0/0');
  });
});
