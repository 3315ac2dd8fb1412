import { appendPortIfNeeded, defaultServerAddresses } from './host-port.ts';
import type { ConfigurationDraft, LogStreamOptions } from './proxy-configuration.ts';
import { kubeProxyConfiguration, type V1alpha1Configuration } from './v1alpha1.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The configuration of kube-proxy without file and flags (operations 1.2). Each call returns an object of its own. */
export function defaultConfiguration(): ConfigurationDraft {
  return fromV1alpha1(kubeProxyConfiguration.zero);
}

/**
 * Fills in upstream's defaults and picks the values of the chosen mode (operations 2.2, 2.3). Where the format cannot tell zero
 * from absent, zero is the default. Nothing is validated and platform defaults are not applied.
 */
export function fromV1alpha1(file: V1alpha1Configuration): ConfigurationDraft {
  const bindAddress = file.bindAddress || '0.0.0.0';
  const servers = defaultServerAddresses(bindAddress);
  const { clientConnection, conntrack, iptables, ipvs, nftables } = file;
  const ownBlock = file.mode === 'nftables' ? nftables : iptables;
  return {
    featureGates: { ...file.featureGates },
    clientConnection: {
      kubeconfig: clientConnection.kubeconfig,
      acceptContentTypes: clientConnection.acceptContentTypes,
      contentType: clientConnection.contentType || 'application/vnd.kubernetes.protobuf',
      qps: clientConnection.qps || 5,
      burst: clientConnection.burst || 10,
    },
    logging: loggingOf(file.logging),
    hostnameOverride: file.hostnameOverride,
    bindAddress,
    healthzBindAddress: appendPortIfNeeded(file.healthzBindAddress || servers.healthz, 10256),
    metricsBindAddress: appendPortIfNeeded(file.metricsBindAddress || servers.metrics, 10249),
    bindAddressHardFail: file.bindAddressHardFail,
    enableProfiling: file.enableProfiling,
    showHiddenMetricsForVersion: file.showHiddenMetricsForVersion,
    mode: file.mode,
    ...syncPeriods(file),
    masqueradeAll: ownBlock.masqueradeAll,
    iptables: {
      masqueradeBit: iptables.masqueradeBit ?? 14,
      localhostNodePorts: iptables.localhostNodePorts ?? true,
    },
    ipvs: {
      scheduler: ipvs.scheduler,
      excludeCIDRs: ipvs.excludeCIDRs,
      strictARP: ipvs.strictARP,
      tcpTimeout: ipvs.tcpTimeout,
      tcpFinTimeout: ipvs.tcpFinTimeout,
      udpTimeout: ipvs.udpTimeout,
    },
    nftables: { masqueradeBit: nftables.masqueradeBit ?? 14 },
    winkernel: { ...file.winkernel },
    detectLocalMode: file.detectLocalMode,
    detectLocal: {
      bridgeInterface: file.detectLocal.bridgeInterface,
      interfaceNamePrefix: file.detectLocal.interfaceNamePrefix,
      clusterCIDRs: file.clusterCIDR === '' ? [] : file.clusterCIDR.split(','),
    },
    nodePortAddresses: file.nodePortAddresses,
    oomScoreAdj: file.oomScoreAdj ?? -999,
    conntrack: {
      maxPerCore: conntrack.maxPerCore ?? 32768,
      min: conntrack.min ?? 131072,
      tcpEstablishedTimeout: conntrack.tcpEstablishedTimeout ?? 24 * hour,
      tcpCloseWaitTimeout: conntrack.tcpCloseWaitTimeout ?? hour,
      tcpBeLiberal: conntrack.tcpBeLiberal,
      udpTimeout: conntrack.udpTimeout,
      udpStreamTimeout: conntrack.udpStreamTimeout,
    },
    configSyncPeriod: file.configSyncPeriod || 15 * minute,
    windowsRunAsService: file.windowsRunAsService,
    fairlead: { ...file.fairlead },
  };
}

/** The block of the file that a mode takes its sync periods from; `userspace` shares the one of iptables. */
export function syncPeriodBlock(mode: string): 'iptables' | 'ipvs' | 'nftables' {
  return mode === 'ipvs' || mode === 'nftables' ? mode : 'iptables';
}

function syncPeriods(file: V1alpha1Configuration): { syncPeriod: number; minSyncPeriod: number } {
  const name = syncPeriodBlock(file.mode);
  return {
    syncPeriod: file[name].syncPeriod || 30 * second,
    // In ipvs mode an absent minimum stays 0.
    minSyncPeriod: file[name].minSyncPeriod || (name === 'ipvs' ? 0 : second),
  };
}

function loggingOf(logging: V1alpha1Configuration['logging']): ConfigurationDraft['logging'] {
  const { milliseconds, isInteger } = logging.flushFrequency;
  const stream = (options: LogStreamOptions) => ({ ...options });
  return {
    format: logging.format || 'text',
    flushFrequency: milliseconds || 5 * second,
    flushFrequencyIsInteger: milliseconds !== 0 && isInteger,
    verbosity: logging.verbosity,
    vmodule: logging.vmodule ?? [],
    options: { text: stream(logging.options.text), json: stream(logging.options.json) },
  };
}
