import type { KubeObject } from './kube-object.ts';

export type ResourceName = 'services' | 'endpointslices' | 'nodes' | 'servicecidrs';
export type ServedKind = 'Service' | 'EndpointSlice' | 'Node' | 'ServiceCIDR';

/** One resource the stand-in serves. */
export interface Resource {
  readonly name: ResourceName;
  readonly kind: ServedKind;
  readonly apiVersion: string;
  /** API group, `''` for core. */
  readonly group: string;
  /** Path of group and version, without a trailing slash. */
  readonly basePath: string;
  readonly namespaced: boolean;
  /** Fields that a field selector may name. */
  readonly fieldLabels: readonly string[];
  /** What a bookmark holds beside `metadata`: the zero value of the kind, as kube-apiserver prints it. */
  readonly emptyBody: Readonly<Record<string, unknown>>;
}

const emptyNodeInfo = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

export const resources: readonly Resource[] = [
  {
    name: 'services',
    kind: 'Service',
    apiVersion: 'v1',
    group: '',
    basePath: '/api/v1',
    namespaced: true,
    fieldLabels: ['metadata.name', 'metadata.namespace', 'spec.clusterIP', 'spec.type'],
    emptyBody: { spec: {}, status: { loadBalancer: {} } },
  },
  {
    name: 'endpointslices',
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    group: 'discovery.k8s.io',
    basePath: '/apis/discovery.k8s.io/v1',
    namespaced: true,
    fieldLabels: ['metadata.name', 'metadata.namespace'],
    emptyBody: { addressType: '', endpoints: null, ports: null },
  },
  {
    name: 'nodes',
    kind: 'Node',
    apiVersion: 'v1',
    group: '',
    basePath: '/api/v1',
    namespaced: false,
    fieldLabels: ['metadata.name', 'spec.unschedulable'],
    emptyBody: {
      spec: {},
      status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: emptyNodeInfo },
    },
  },
  {
    name: 'servicecidrs',
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    group: 'networking.k8s.io',
    basePath: '/apis/networking.k8s.io/v1',
    namespaced: false,
    fieldLabels: ['metadata.name'],
    emptyBody: { spec: {}, status: {} },
  },
];

/** The resource that serves a kind, or `undefined` for kinds the stand-in does not know. */
export function resourceOfKind(kind: string | undefined): Resource | undefined {
  return resources.find((resource) => resource.kind === kind);
}

/** The resource of this plural name. Throws RangeError for another name. */
export function resourceNamed(name: string): Resource {
  const found = resources.find((resource) => resource.name === name);
  if (found === undefined) throw new RangeError(`the stand-in does not serve ${JSON.stringify(name)}`);
  return found;
}

/** The value of a selectable field, `''` where the object does not have it. */
export function fieldValue(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null) return '';
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value === undefined || value === null ? '' : String(value);
}
