import {
  block,
  bool,
  type Decoded,
  duration,
  durationOrNanoseconds,
  float32,
  int32,
  listOf,
  mapOf,
  optional,
  quantity,
  text,
  uint32,
} from './field-type.ts';

export const apiVersion = 'kubeproxy.config.k8s.io/v1alpha1';
export const kind = 'KubeProxyConfiguration';

const streamOptions = block({ splitStream: bool, infoBufferSize: quantity });

/**
 * The fields of `KubeProxyConfiguration` v1alpha1 as of Kubernetes 1.36, in the order in which they are printed
 * (operations 2.2, 4.3), and our own section `fairlead`, which kube-proxy would ignore with a warning.
 */
export const kubeProxyConfiguration = block({
  kind: text,
  apiVersion: text,
  featureGates: mapOf(bool),
  clientConnection: block({
    kubeconfig: text,
    acceptContentTypes: text,
    contentType: text,
    qps: float32,
    burst: int32,
  }),
  logging: block({
    format: text,
    flushFrequency: durationOrNanoseconds,
    verbosity: uint32,
    vmodule: listOf(block({ filePattern: text, verbosity: uint32 })),
    options: block({ text: streamOptions, json: streamOptions }),
  }),
  hostnameOverride: text,
  bindAddress: text,
  healthzBindAddress: text,
  metricsBindAddress: text,
  bindAddressHardFail: bool,
  enableProfiling: bool,
  showHiddenMetricsForVersion: text,
  mode: text,
  iptables: block({
    masqueradeBit: optional(int32),
    masqueradeAll: bool,
    localhostNodePorts: optional(bool),
    syncPeriod: duration,
    minSyncPeriod: duration,
  }),
  ipvs: block({
    syncPeriod: duration,
    minSyncPeriod: duration,
    scheduler: text,
    excludeCIDRs: listOf(text),
    strictARP: bool,
    tcpTimeout: duration,
    tcpFinTimeout: duration,
    udpTimeout: duration,
  }),
  nftables: block({
    masqueradeBit: optional(int32),
    masqueradeAll: bool,
    syncPeriod: duration,
    minSyncPeriod: duration,
  }),
  winkernel: block({
    networkName: text,
    sourceVip: text,
    enableDSR: bool,
    rootHnsEndpointName: text,
    forwardHealthCheckVip: bool,
  }),
  detectLocalMode: text,
  detectLocal: block({ bridgeInterface: text, interfaceNamePrefix: text }),
  clusterCIDR: text,
  nodePortAddresses: listOf(text),
  oomScoreAdj: optional(int32),
  conntrack: block({
    maxPerCore: optional(int32),
    min: optional(int32),
    tcpEstablishedTimeout: optional(duration),
    tcpCloseWaitTimeout: optional(duration),
    tcpBeLiberal: bool,
    udpTimeout: duration,
    udpStreamTimeout: duration,
  }),
  configSyncPeriod: duration,
  portRange: text,
  windowsRunAsService: bool,
  fairlead: block({ manifests: text }),
});

/** The file as decoded, before defaults. */
export type V1alpha1Configuration = Decoded<typeof kubeProxyConfiguration>;
