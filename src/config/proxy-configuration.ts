import type { Quantity } from './quantity.ts';

/** Modes of kube-proxy, and `userspace`, which is ours. */
export const proxyModes = ['iptables', 'ipvs', 'nftables', 'userspace'] as const;
export type ProxyMode = (typeof proxyModes)[number];

export const detectLocalModes = [
  'ClusterCIDR',
  'NodeCIDR',
  'BridgeInterface',
  'InterfaceNamePrefix',
] as const;
export type DetectLocalMode = (typeof detectLocalModes)[number];

/**
 * The effective configuration: file or flags, with defaults, validated. Names follow `KubeProxyConfiguration` v1alpha1;
 * the values that v1alpha1 keeps once per mode (`syncPeriod`, `minSyncPeriod`, `masqueradeAll`) are those of the chosen
 * mode (operations 2.3). All durations are milliseconds, fractions allowed.
 */
export interface ProxyConfiguration {
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly clientConnection: ClientConnection;
  readonly logging: LoggingConfiguration;
  /** As configured; the node name derived from it is `Invocation.nodeName`. */
  readonly hostnameOverride: string;
  /** Overrides the primary node IP; no socket is bound to it. */
  readonly bindAddress: string;
  /** `IP:port`, or `''` for no health server. */
  readonly healthzBindAddress: string;
  /** `IP:port`. */
  readonly metricsBindAddress: string;
  readonly bindAddressHardFail: boolean;
  readonly enableProfiling: boolean;
  readonly showHiddenMetricsForVersion: string;
  readonly mode: ProxyMode;
  readonly syncPeriod: number;
  readonly minSyncPeriod: number;
  readonly masqueradeAll: boolean;
  readonly iptables: { readonly masqueradeBit: number; readonly localhostNodePorts: boolean };
  readonly ipvs: IpvsConfiguration;
  readonly nftables: { readonly masqueradeBit: number };
  readonly winkernel: WinkernelConfiguration;
  readonly detectLocalMode: DetectLocalMode;
  readonly detectLocal: {
    readonly bridgeInterface: string;
    readonly interfaceNamePrefix: string;
    readonly clusterCIDRs: readonly string[];
  };
  /** CIDRs, or the single word `primary`. `undefined` is "not given", which differs from `[]` only when printed. */
  readonly nodePortAddresses: readonly string[] | undefined;
  readonly oomScoreAdj: number;
  readonly conntrack: ConntrackConfiguration;
  /** Resync interval of the API watches. */
  readonly configSyncPeriod: number;
  readonly windowsRunAsService: boolean;
  /** Settings that kube-proxy does not have: the `fairlead` section of the file. */
  readonly fairlead: FairleadConfiguration;
}

export interface ClientConnection {
  readonly kubeconfig: string;
  readonly acceptContentTypes: string;
  readonly contentType: string;
  /** Requests per second; 0 is the client's default of 5, negative is unlimited. */
  readonly qps: number;
  readonly burst: number;
}

export interface LoggingConfiguration {
  readonly format: string;
  readonly flushFrequency: number;
  /** The file gave the frequency as integer nanoseconds, and it is printed back so. */
  readonly flushFrequencyIsInteger: boolean;
  readonly verbosity: number;
  /** Files whose lines are printed at a level of their own; the first match counts. */
  readonly vmodule: readonly VModuleItem[];
  readonly options: { readonly text: LogStreamOptions; readonly json: LogStreamOptions };
}

export interface VModuleItem {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface LogStreamOptions {
  readonly splitStream: boolean;
  readonly infoBufferSize: Quantity;
}

export interface IpvsConfiguration {
  /** `''` is `rr`. */
  readonly scheduler: string;
  readonly excludeCIDRs: readonly string[] | undefined;
  readonly strictARP: boolean;
  /** 0 leaves the kernel's value, here and in the next two. */
  readonly tcpTimeout: number;
  readonly tcpFinTimeout: number;
  readonly udpTimeout: number;
}

/** Accepted for the sake of shared configuration files; nothing here is used on Linux. */
export interface WinkernelConfiguration {
  readonly networkName: string;
  readonly sourceVip: string;
  readonly enableDSR: boolean;
  readonly rootHnsEndpointName: string;
  readonly forwardHealthCheckVip: boolean;
}

/** Zero values leave the kernel's setting as it is. */
export interface ConntrackConfiguration {
  readonly maxPerCore: number;
  readonly min: number;
  readonly tcpEstablishedTimeout: number;
  readonly tcpCloseWaitTimeout: number;
  readonly tcpBeLiberal: boolean;
  readonly udpTimeout: number;
  readonly udpStreamTimeout: number;
}

export interface FairleadConfiguration {
  /** Directory of YAML manifests to serve instead of an API server; `''` for none. */
  readonly manifests: string;
}

type Mutable<T> = T extends readonly (infer _Item)[]
  ? T
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;

/** A configuration under construction: writable, and the words that validation checks are still any string. */
export type ConfigurationDraft = Mutable<Omit<ProxyConfiguration, 'mode' | 'detectLocalMode'>> & {
  mode: string;
  detectLocalMode: string;
};
