/**
 * The part of a `v1.Service` that a Service proxy reads (core/v1; spec A.1). Absent strings are `''`, absent lists are
 * empty, as in the protobuf encoding. Addresses are as the API gave them, not yet parsed.
 */
export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch, 0 where unknown. Decides between Services that claim the same address and port. */
  readonly creationTimestamp: number;
  readonly type: string;
  readonly clusterIP: string;
  readonly clusterIPs: readonly string[];
  readonly ipFamilies: readonly string[];
  readonly ports: readonly ServicePort[];
  readonly externalIPs: readonly string[];
  readonly sessionAffinity: string;
  /** `spec.sessionAffinityConfig.clientIP.timeoutSeconds`, where given. */
  readonly affinityTimeoutSeconds: number | undefined;
  readonly loadBalancerSourceRanges: readonly string[];
  readonly loadBalancerIngress: readonly LoadBalancerIngress[];
  readonly externalTrafficPolicy: string;
  readonly internalTrafficPolicy: string;
  readonly healthCheckNodePort: number;
}

export interface ServicePort {
  readonly name: string;
  /** `TCP`, `UDP` or `SCTP`; an absent protocol is delivered as `TCP`. */
  readonly protocol: string;
  readonly port: number;
  readonly nodePort: number;
}

export interface LoadBalancerIngress {
  readonly ip: string;
  /** `VIP`, `Proxy` or `''` where absent. */
  readonly ipMode: string;
}
