import { mergePatch } from './merge-patch.ts';
import type { ReplayMode } from './scenario.ts';

/**
 * The KubeProxyConfiguration of a replay: what all recordings were made with, then the `config` of the scenario.
 * Without a kubeconfig the proxy reads its objects from a directory.
 */
export function proxyConfiguration(
  mode: ReplayMode,
  scenarioConfig: Readonly<Record<string, unknown>>,
  kubeconfig?: string,
): Record<string, unknown> {
  const base = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    hostnameOverride: 'node1',
    ...(kubeconfig === undefined ? {} : { clientConnection: { kubeconfig } }),
    clusterCIDR: '10.244.0.0/16,fd00:244::/32',
    detectLocalMode: 'ClusterCIDR',
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    iptables: { minSyncPeriod: '10ms' },
    nftables: { minSyncPeriod: '10ms' },
    ipvs: { minSyncPeriod: '10ms' },
  };
  return mergePatch(base, scenarioConfig) as Record<string, unknown>;
}
