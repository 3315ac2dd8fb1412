import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FileFeed } from './file-feed.ts';
import { ObjectWorld } from './object-world.ts';
import type { KubeObject } from './scenario.ts';

let feed: FileFeed;
let world: ObjectWorld;
beforeEach(async () => {
  feed = await FileFeed.create();
  world = new ObjectWorld(feed);
});
afterEach(() => feed.close());

/** What a proxy would read: file names with contents. */
function files(): Record<string, unknown> {
  const { manifests } = feed.location;
  return Object.fromEntries(
    readdirSync(manifests).map((name) => [name, parse(readFileSync(`${manifests}/${name}`, 'utf8'))]),
  );
}

function service(name: string, spec: Record<string, unknown>): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec };
}

const NODE: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', labels: { a: 'b' } } };

test('a file for each object, replaced as a whole', async () => {
  await world.apply([service('web', { clusterIP: '10.96.0.1', ports: [] }), NODE]);
  await world.apply([service('web', { clusterIP: '10.96.0.2' })]);
  expect(files()).toEqual({
    'service.default.web.yaml': service('web', { clusterIP: '10.96.0.2' }),
    'node..node1.yaml': NODE,
  });
});

test('patches merge into what the object has become', async () => {
  await world.apply([NODE]);
  await world.patch({ kind: 'Node', name: 'node1' }, { metadata: { labels: { zone: 'a' } } });
  await world.patch({ kind: 'Node', name: 'node1' }, { metadata: { labels: { a: null } } });
  expect(files()).toEqual({
    'node..node1.yaml': { ...NODE, metadata: { name: 'node1', labels: { zone: 'a' } } },
  });
  expect(world.objects()).toEqual(Object.values(files()));
});

test('deletions, and references to what does not exist', async () => {
  await world.apply([service('web', {})]);
  const web = { kind: 'Service', name: 'web', namespace: 'default' };
  await world.delete(web);
  expect(files()).toEqual({});
  await expect(world.delete(web)).rejects.toThrow('Service default/web');
  await expect(world.patch(web, {})).rejects.toThrow('Service default/web');
});
