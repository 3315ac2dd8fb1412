import type { Endpoint } from '../model/endpoint.ts';
import type { ServicePort } from '../model/service-port.ts';
import type { CategorizedEndpoints } from './categorize-endpoints.ts';
import type { PlanSettings } from './plan-settings.ts';

/** What happens to a new connection that arrives at a frontend (spec A.3.3, A9). */
export type FrontendVerdict =
  /** Spread over the endpoints that the policy of this frontend allows. */
  | 'forward'
  /** Refused at once: nothing in the cluster can serve it. */
  | 'reject'
  /** Ignored: policy Local, and the endpoints are on other nodes. */
  | 'drop';

/** Where traffic to a ServicePort arrives. */
export type Frontend =
  | { readonly kind: 'ClusterIP' | 'ExternalIP'; readonly ip: string; readonly port: number }
  | {
      readonly kind: 'LoadBalancerIP';
      readonly ip: string;
      readonly port: number;
      /** `externalIPs` names the address too. */
      readonly isExternalIP: boolean;
    }
  | { readonly kind: 'NodePort'; readonly port: number };

/** All that a proxier needs to know to serve one ServicePort. Immutable: a change makes a new one. */
export interface ServicePortPlan extends CategorizedEndpoints {
  /** See servicePortKey. */
  readonly key: string;
  readonly servicePort: ServicePort;
  /** Every endpoint there is, usable or not. */
  readonly endpoints: readonly Endpoint[];
  /** The frontends this ServicePort owns: an address, protocol and port belongs to one ServicePort at a time. */
  readonly frontends: readonly Frontend[];
}

/** What should be true in the kernel for one address family. */
export interface ProxyPlan {
  readonly settings: PlanSettings;
  /** By servicePortKey. */
  readonly servicePorts: ReadonlyMap<string, ServicePortPlan>;
}

/** A ServicePort whose plan is new, different or gone. */
export interface ServicePortChange {
  readonly before: ServicePortPlan | undefined;
  readonly after: ServicePortPlan | undefined;
}

/** From one plan to the next: the ServicePorts that were touched. Settings are the same in both. */
export type PlanDiff = readonly ServicePortChange[];

/** What the policy of a frontend makes of new connections. For NodePort, ExternalIP and LoadBalancerIP of policy Local
 * this is the verdict for clients outside; pods and processes of this node are served from the whole cluster. */
export function frontendVerdict(plan: ServicePortPlan, kind: Frontend['kind']): FrontendVerdict {
  if (!plan.hasAnyEndpoints) return 'reject';
  const usesLocal =
    kind === 'ClusterIP' ? plan.servicePort.internalPolicyLocal : plan.servicePort.externalPolicyLocal;
  return usesLocal && plan.local.length === 0 ? 'drop' : 'forward';
}
