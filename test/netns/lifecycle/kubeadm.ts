import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KUBE_PROXY } from './proxy-process.ts';

/** Data of `config.conf` in the ConfigMap that kubeadm writes: nothing is filled in. */
export const KUBEADM_CONFIG = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`;

/** Data of `kubeconfig.conf` in the same ConfigMap. */
export function kubeadmKubeconfig(server: string): string {
  return `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: ${server}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
`;
}

/**
 * Writes a volume of the kubelet (ConfigMap, projected token), or replaces its content: the files are symbolic links
 * through `..data`, which is swapped in one step.
 */
export function writeVolume(directory: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(directory, { recursive: true });
  const stamp = `..${Date.now()}.${Math.random().toString(36).slice(2)}`;
  mkdirSync(join(directory, stamp));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, stamp, name), text);
  symlinkSync(stamp, join(directory, '..data_tmp'));
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  const entries = readdirSync(directory);
  for (const name of Object.keys(files))
    if (!entries.includes(name)) symlinkSync(join('..data', name), join(directory, name));
  for (const old of entries)
    if (/^\.\.\d/.test(old) && old !== stamp) rmSync(join(directory, old), { recursive: true });
}

/** Shell lines that make a mount namespace look like kube-proxy's container; see {@link writeVolume}. */
export function containerMounts(volumes: {
  readonly config: string;
  readonly serviceAccount: string;
}): string[] {
  const account = '/var/run/secrets/kubernetes.io/serviceaccount';
  return [
    'mount -t tmpfs tmpfs /run',
    `mkdir -p ${account}`,
    `mount --bind ${volumes.serviceAccount} ${account}`,
    'mount -t tmpfs tmpfs /var/lib',
    'mkdir /var/lib/kube-proxy',
    `mount --bind ${volumes.config} /var/lib/kube-proxy`,
    'mount -t tmpfs tmpfs /usr/local/bin',
    `ln -s ${KUBE_PROXY} /usr/local/bin/kube-proxy`,
    // Kernel settings of the whole machine are not for a test to change.
    'mount -o remount,ro,bind /sys',
  ];
}
