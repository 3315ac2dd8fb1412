/** What addresses the frontends of a treatment: a destination address and port, or a node port. */
export type FrontendScope = 'service' | 'nodeport';

/**
 * One way of treating new connections, shared by all frontends that need it: the name of a chain, and what its rules
 * do. There is one chain for each treatment in use, none per Service.
 */
export type Treatment = {
  readonly chain: string;
  readonly scope: FrontendScope;
} & (
  | {
      /** DNAT to one of the frontend's cluster-wide endpoints, or of those on this node. */
      readonly kind: 'cluster' | 'local';
      readonly slots: number;
    }
  | {
      /** From outside with policy Cluster: masquerade, then as `cluster`. */
      readonly kind: 'external';
      readonly cluster: Treatment;
    }
  | {
      /** From outside with policy Local: pods and processes of this node use `cluster`, all others `local` or nothing. */
      readonly kind: 'external-local';
      readonly cluster: Treatment;
      readonly local: Treatment | undefined;
    }
);

const interned = new Map<string, Treatment>();

/** The treatment of a chain name made by this module, e.g. to find what an element of a verdict map leads to. */
export function treatmentOfChain(chain: string): Treatment | undefined {
  return interned.get(chain);
}

/** Spread over `slots` slots of the frontend's endpoints. */
export function balance(scope: FrontendScope, kind: 'cluster' | 'local', slots: number): Treatment {
  return intern({ chain: `${prefix(scope)}${kind}-${slots}`, scope, kind, slots });
}

/** External traffic with policy Cluster. */
export function external(scope: FrontendScope, clusterSlots: number): Treatment {
  const chain = `${prefix(scope)}external-${clusterSlots}`;
  return (
    interned.get(chain) ??
    intern({ chain, scope, kind: 'external', cluster: balance(scope, 'cluster', clusterSlots) })
  );
}

/** External traffic with policy Local; `localSlots` is 0 where this node has no endpoint. */
export function externalLocal(scope: FrontendScope, clusterSlots: number, localSlots: number): Treatment {
  const chain = `${prefix(scope)}external-local-${clusterSlots}-${localSlots}`;
  return (
    interned.get(chain) ??
    intern({
      chain,
      scope,
      kind: 'external-local',
      cluster: balance(scope, 'cluster', clusterSlots),
      local: localSlots === 0 ? undefined : balance(scope, 'local', localSlots),
    })
  );
}

/** The treatment and all it leads to, targets first: the order in which their chains can be filled. */
export function withTargets(treatment: Treatment): readonly Treatment[] {
  if (treatment.kind === 'external') return [treatment.cluster, treatment];
  if (treatment.kind !== 'external-local') return [treatment];
  return treatment.local === undefined
    ? [treatment.cluster, treatment]
    : [treatment.cluster, treatment.local, treatment];
}

function prefix(scope: FrontendScope): string {
  return scope === 'nodeport' ? 'nodeport-' : '';
}

function intern(treatment: Treatment): Treatment {
  const known = interned.get(treatment.chain);
  if (known !== undefined) return known;
  interned.set(treatment.chain, treatment);
  return treatment;
}
