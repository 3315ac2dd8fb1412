import { expect, test } from 'vitest';
import { generateObjects } from './generate-objects.ts';
import type { KubeObject } from './kube-object.ts';

const generated = (shape: Parameters<typeof generateObjects>[0]) => [...generateObjects(shape)];
const ofKind = (objects: readonly KubeObject[], kind: string) =>
  objects.filter((object) => object.kind === kind);

interface Slice {
  readonly endpoints: readonly { readonly addresses: readonly string[]; readonly nodeName: string }[];
}
const endpointsOf = (object: KubeObject) => (object as unknown as Slice).endpoints;

test('the same shape gives the same objects', () => {
  const shape = { services: 20, endpoints: 3, dualStack: true, nodePortEvery: 5, udpEvery: 4 };
  expect(JSON.stringify(generated(shape))).toBe(JSON.stringify(generated(shape)));
});

test('no address and no node port is given twice; slices hold at most 100 endpoints', () => {
  const objects = generated({ services: 300, endpoints: 250, nodePortEvery: 2, nodes: 5 });
  const slices = ofKind(objects, 'EndpointSlice');
  expect(slices).toHaveLength(900);
  const pods = slices.flatMap((slice) => endpointsOf(slice).map((endpoint) => endpoint.addresses[0]));
  expect(new Set(pods).size).toBe(75_000);
  expect(Math.max(...slices.map((slice) => endpointsOf(slice).length))).toBe(100);
  const specs = ofKind(objects, 'Service').map(({ spec }) => spec as { clusterIP: string; ports: object[] });
  expect(new Set(specs.map((spec) => spec.clusterIP)).size).toBe(300);
  const nodePorts = specs
    .flatMap((spec) => spec.ports as { nodePort?: number }[])
    .flatMap((port) => port.nodePort ?? []);
  expect(nodePorts).toHaveLength(150);
  expect(new Set(nodePorts).size).toBe(150);
});

test('local says how many endpoints of each Service are on node1', () => {
  for (const slice of ofKind(
    generated({ services: 30, endpoints: 10, local: 2, nodes: 7 }),
    'EndpointSlice',
  )) {
    expect(endpointsOf(slice).filter((endpoint) => endpoint.nodeName === 'node1')).toHaveLength(2);
  }
});

test('dual-stack: both families in every Service and a slice for each', () => {
  const objects = generated({ services: 2, endpoints: 1, dualStack: true });
  const [{ spec } = { spec: undefined }] = ofKind(objects, 'Service');
  expect(spec).toMatchObject({
    clusterIPs: ['10.96.0.10', 'fd00:10:96::a'],
  });
  expect(ofKind(objects, 'EndpointSlice').map(({ addressType }) => addressType)).toEqual([
    'IPv4',
    'IPv6',
    'IPv4',
    'IPv6',
  ]);
});

test('a second generation of a slice has other pods', async () => {
  const { sliceObjects } = await import('./generate-objects.ts');
  const shape = { services: 5, endpoints: 2 };
  const [before] = [...sliceObjects(3, shape, 'IPv4', 10)];
  const [after] = [...sliceObjects(3, shape, 'IPv4', 10, 1)];
  expect(after!.metadata.name).toBe(before!.metadata.name);
  const addresses = (slice: KubeObject) => endpointsOf(slice).flatMap((endpoint) => endpoint.addresses);
  expect(addresses(after!).filter((address) => addresses(before!).includes(address))).toEqual([]);
});
