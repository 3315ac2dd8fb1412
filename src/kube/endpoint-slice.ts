/** The part of a `discovery.k8s.io/v1.EndpointSlice` that a Service proxy reads (spec A.2). */
export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** Value of the label `kubernetes.io/service-name`, `''` where absent. */
  readonly serviceName: string;
  /** `IPv4`, `IPv6`, `FQDN` or whatever else the API holds. */
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  /** Annotation `endpoints.kubernetes.io/last-change-trigger-time` as written, `''` where absent. */
  readonly lastChangeTriggerTime: string;
}

export interface EndpointPort {
  /** `undefined` where absent: such a port is not served. `''` is the name of an unnamed port. */
  readonly name: string | undefined;
  /** `undefined` where absent: such a port is not served. */
  readonly port: number | undefined;
  /** An absent protocol is delivered as `TCP`. */
  readonly protocol: string;
}

export interface Endpoint {
  /** The first of `addresses` as the API gave it, `''` where there is none: the others are never used (spec A.2.3). */
  readonly address: string;
  /** Conditions: `undefined` where absent. */
  readonly ready: boolean | undefined;
  readonly serving: boolean | undefined;
  readonly terminating: boolean | undefined;
  /** `undefined` where absent. */
  readonly nodeName: string | undefined;
  /** `hints.forZones[].name` and `hints.forNodes[].name`; the shared empty list {@link noHints} where absent. */
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

/** Shared by all endpoints without hints, so that a hundred thousand of them cost nothing. */
export const noHints: readonly string[] = Object.freeze([]);
