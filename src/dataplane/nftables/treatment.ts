/** What addresses the frontends of a treatment: a destination address and port, or a node port. */
export type FrontendScope = 'service' | 'nodeport';

/** Which of a frontend's endpoints: of the whole cluster, or of this node. */
export type EndpointPolicy = 'cluster' | 'local';

/**
 * One way of treating new connections, shared by all frontends that need it: the name of a chain, and what its rules
 * do. There is one chain for each treatment in use, none per Service.
 */
export type Treatment = {
  readonly chain: string;
  readonly scope: FrontendScope;
} & (
  | {
      /** DNAT to one of the frontend's cluster-wide endpoints, or of those on this node, by as many draws as it takes. */
      readonly kind: 'balance';
      readonly policy: EndpointPolicy;
      readonly slots: number;
      /** Draws below `slots` and below `slots / 2`. */
      readonly draw: Treatment;
      readonly lastDraw: Treatment;
    }
  | {
      /** DNAT to the endpoint in a slot drawn below `slots`; where there is none, back to the caller. */
      readonly kind: 'draw';
      readonly policy: EndpointPolicy;
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

/** Spread over `slots` slots of the frontend's endpoints. Up to two slots are always full, and one draw is enough. */
export function balance(scope: FrontendScope, policy: EndpointPolicy, slots: number): Treatment {
  if (slots <= 2) return draw(scope, policy, slots);
  const chain = `${prefix(scope)}${policy}-${slots}`;
  return (
    interned.get(chain) ??
    intern({
      chain,
      scope,
      kind: 'balance',
      policy,
      slots,
      draw: draw(scope, policy, slots),
      lastDraw: draw(scope, policy, slots / 2),
    })
  );
}

function draw(scope: FrontendScope, policy: EndpointPolicy, slots: number): Treatment {
  const chain = `${prefix(scope)}${policy}-${slots <= 2 ? '' : 'draw-'}${slots}`;
  return interned.get(chain) ?? intern({ chain, scope, kind: 'draw', policy, slots });
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

/** The treatment and all it leads to, each once, targets first: the order in which their chains can be filled. */
export function withTargets(treatment: Treatment): readonly Treatment[] {
  return [...new Set([...targetsOf(treatment).flatMap(withTargets), treatment])];
}

function targetsOf(treatment: Treatment): readonly Treatment[] {
  switch (treatment.kind) {
    case 'draw':
      return [];
    case 'balance':
      return [treatment.lastDraw, treatment.draw];
    case 'external':
      return [treatment.cluster];
    case 'external-local':
      return treatment.local === undefined ? [treatment.cluster] : [treatment.cluster, treatment.local];
  }
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
