import { expect, test } from 'vitest';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { defaultConfiguration } from '../config/from-v1alpha1.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { ClusterSinks } from '../kube/cluster-sinks.ts';
import type { Node } from '../kube/node.ts';
import { AppError } from './app-error.ts';
import { NodeWatch } from './node-watch.ts';
import { noteReached } from './note-reached.ts';
import { waitForNode } from './wait-for-node.ts';

function nodeWith(fields: Partial<Pick<Node, 'addresses' | 'podCIDRs'>>): Node {
  const empty = {
    resourceVersion: '',
    uid: '',
    labels: {},
    deletionTimestamp: undefined,
    providerID: '',
    taints: [],
  };
  return { name: 'node1', ...empty, addresses: [], podCIDRs: [], ...fields };
}

const ip = (address: string) => [{ type: 'InternalIP', address }];

/** A wait under way, and the sinks that the source would fill. */
function waiting(detectLocalMode: string, manifestsDir?: string) {
  const clock = new FakeClock();
  const nodes = new NodeWatch('node1', clock);
  const none = { set() {}, delete() {}, synced() {} };
  const all: ClusterSinks = { services: none, endpointSlices: none, nodes, serviceCIDRs: none };
  const { sinks, reached } = noteReached(all);
  const config = { ...defaultConfiguration(), detectLocalMode } as ProxyConfiguration;
  const stop = new AbortController();
  let outcome: Node | 'none' | 'waits' | string = 'waits';
  const done = waitForNode(
    nodes,
    { config, manifestsDir, nodeName: 'node1' },
    { signal: stop.signal, reached },
  ).then(
    (node) => {
      outcome = node ?? 'none';
    },
    (error: unknown) => {
      outcome = error instanceof AppError ? error.detail.code : String(error);
    },
  );
  return { clock, sinks, stop, done, outcome: () => outcome };
}

test('while the API server is away it waits, however long', async () => {
  const { clock, sinks, outcome } = waiting('ClusterCIDR');
  await clock.advance(3_600_000);
  expect(outcome()).toBe('waits');
  const node = nodeWith({ addresses: ip('192.168.1.10') });
  sinks.nodes.set(node);
  sinks.nodes.synced();
  await clock.advance(0);
  expect(outcome()).toBe(node);
  expect(clock.pending).toBe(0);
});

test('a Node that does not exist, or may not be read, is waited for 30 seconds', async () => {
  const { clock, sinks, outcome } = waiting('ClusterCIDR');
  await clock.advance(100_000);
  // Services can be read, Nodes cannot.
  sinks.services.synced();
  await clock.advance(29_999);
  expect(outcome()).toBe('waits');
  await clock.advance(1);
  expect(outcome()).toBe('none');
});

test('a name is no address: a Node that has only that is waited for', async () => {
  const { clock, sinks, outcome } = waiting('ClusterCIDR');
  sinks.nodes.set(nodeWith({ addresses: [{ type: 'Hostname', address: 'node1' }, ...ip('not an address')] }));
  sinks.nodes.synced();
  await clock.advance(20_000);
  expect(outcome()).toBe('waits');
  const node = nodeWith({ addresses: ip('192.168.1.10') });
  sinks.nodes.set(node);
  await clock.advance(0);
  expect(outcome()).toBe(node);
});

test('mode NodeCIDR waits another five minutes for pod CIDRs, and cannot do without', async () => {
  const { clock, sinks, outcome } = waiting('NodeCIDR');
  sinks.nodes.synced();
  await clock.advance(30_000 + 299_999);
  expect(outcome()).toBe('waits');
  await clock.advance(1);
  expect(outcome()).toBe('APP_NODE_MISSING');

  const without = waiting('NodeCIDR');
  without.sinks.nodes.set(nodeWith({ addresses: ip('192.168.1.10') }));
  without.sinks.nodes.synced();
  await without.clock.advance(300_000);
  expect(without.outcome()).toBe('APP_NODE_WITHOUT_POD_CIDRS');
});

test('mode NodeCIDR takes the last addresses, and pod CIDRs without any', async () => {
  const both = waiting('NodeCIDR');
  both.sinks.nodes.set(nodeWith({ addresses: ip('192.168.1.10') }));
  both.sinks.nodes.synced();
  await both.clock.advance(100);
  const node = nodeWith({ addresses: ip('192.168.1.1'), podCIDRs: ['10.0.0.0/24'] });
  both.sinks.nodes.set(node);
  await both.clock.advance(0);
  expect(both.outcome()).toBe(node);

  const bare = waiting('NodeCIDR');
  bare.sinks.nodes.synced();
  const withoutAddress = nodeWith({ podCIDRs: ['10.0.0.0/24'] });
  bare.sinks.nodes.set(withoutAddress);
  await bare.clock.advance(30_000);
  expect(bare.outcome()).toBe(withoutAddress);
});

test('with manifests everything is known once they have been read', async () => {
  const { clock, sinks, outcome } = waiting('ClusterCIDR', '/manifests');
  await clock.advance(60_000 - 30_001);
  expect(outcome()).toBe('waits');
  sinks.nodes.synced();
  await clock.advance(0);
  expect(outcome()).toBe('none');
});

test('a stop ends the wait at once', async () => {
  const { clock, stop, done, outcome } = waiting('NodeCIDR');
  await clock.advance(10);
  stop.abort();
  await done;
  expect(outcome()).toBe('none');
  expect(clock.pending).toBe(0);
});
