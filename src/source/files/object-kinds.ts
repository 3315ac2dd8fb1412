import type { EndpointSlice } from '../../kube/endpoint-slice.ts';
import { endpointSliceFromJson } from '../../kube/json/endpoint-slice-from-json.ts';
import type { JsonObject } from '../../kube/json/json-fields.ts';
import { nodeFromJson } from '../../kube/json/node-from-json.ts';
import { serviceCIDRFromJson } from '../../kube/json/service-cidr-from-json.ts';
import { serviceFromJson } from '../../kube/json/service-from-json.ts';
import type { Node } from '../../kube/node.ts';
import type { Service } from '../../kube/service.ts';
import type { ServiceCIDR } from '../../kube/service-cidr.ts';
import { checkEndpointSlice, checkService } from './check-object.ts';
import { defaultEndpointSlice, defaultService } from './default-object.ts';

/** An object as the source delivers it, tagged with its kind. */
export type KindedObject =
  | { readonly kind: 'Service'; readonly object: Service }
  | { readonly kind: 'EndpointSlice'; readonly object: EndpointSlice }
  | { readonly kind: 'Node'; readonly object: Node }
  | { readonly kind: 'ServiceCIDR'; readonly object: ServiceCIDR };

export type ObjectKind = KindedObject['kind'];

interface KindRule {
  readonly group: string;
  readonly apiVersion: string;
  readonly namespaced: boolean;
  /** Decodes, fills in defaults and checks. Throws DecodeError or ObjectProblem. */
  readonly read: (json: JsonObject) => KindedObject;
}

/** The kinds that are read; all others are left alone. */
export const kindRules: Readonly<Record<ObjectKind, KindRule>> = {
  Service: {
    group: '',
    apiVersion: 'v1',
    namespaced: true,
    read(json) {
      const object = defaultService(serviceFromJson(json));
      checkService(object);
      return { kind: 'Service', object };
    },
  },
  EndpointSlice: {
    group: 'discovery.k8s.io',
    apiVersion: 'discovery.k8s.io/v1',
    namespaced: true,
    read(json) {
      const object = defaultEndpointSlice(endpointSliceFromJson(json));
      checkEndpointSlice(object);
      return { kind: 'EndpointSlice', object };
    },
  },
  Node: {
    group: '',
    apiVersion: 'v1',
    namespaced: false,
    read: (json) => ({ kind: 'Node', object: nodeFromJson(json) }),
  },
  ServiceCIDR: {
    group: 'networking.k8s.io',
    apiVersion: 'networking.k8s.io/v1',
    namespaced: false,
    read: (json) => ({ kind: 'ServiceCIDR', object: serviceCIDRFromJson(json) }),
  },
};

/** The rule for a kind in an API group; `undefined` for the many that a Service proxy does not read. */
export function kindRule(kind: unknown, apiVersion: unknown): KindRule | undefined {
  if (typeof kind !== 'string' || !Object.hasOwn(kindRules, kind)) return undefined;
  const rule = kindRules[kind as ObjectKind];
  // A manifest without apiVersion is taken for the one that is read; `Service` of another group is another thing.
  if (typeof apiVersion !== 'string' || apiVersion === '') return rule;
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return group === rule.group ? rule : undefined;
}
