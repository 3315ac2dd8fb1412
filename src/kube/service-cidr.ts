/** A `networking.k8s.io/v1.ServiceCIDR`: networks that ClusterIPs are allocated from (spec A14). */
export interface ServiceCIDR {
  readonly name: string;
  readonly resourceVersion: string;
  readonly cidrs: readonly string[];
}
