/** The part of a `v1.Node` that a Service proxy reads (spec A.1.7, operations 3.2, 3.3). */
export interface Node {
  readonly name: string;
  readonly resourceVersion: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly podCIDRs: readonly string[];
  readonly addresses: readonly NodeAddress[];
  /** Set while the Node object is being deleted. */
  readonly deletionTimestamp: number | undefined;
  readonly providerID: string;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
}

export interface NodeAddress {
  /** `InternalIP`, `ExternalIP`, `Hostname`, … */
  readonly type: string;
  readonly address: string;
}
