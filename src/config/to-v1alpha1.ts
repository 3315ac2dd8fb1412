import { syncPeriodBlock } from './from-v1alpha1.ts';
import { formatGoDuration } from './go-duration.ts';
import type {
  ConfigurationDraft,
  LoggingConfiguration,
  LogStreamOptions,
  ProxyConfiguration,
} from './proxy-configuration.ts';
import { apiVersion, kind } from './v1alpha1.ts';

/** A value as it is printed: JSON without numbers that JSON cannot hold. */
export type PrintedValue =
  | null
  | boolean
  | number
  | string
  | readonly PrintedValue[]
  | { readonly [key: string]: PrintedValue };

/**
 * The effective configuration as a v1alpha1 object, keys in the order of `/configz` (operations 4.3). Periods and `masqueradeAll`
 * appear in the block of the active mode only, `portRange` is always empty (operations 1.4, 2.3). Our section `fairlead` appears
 * when it holds anything.
 */
export function toV1alpha1(config: ProxyConfiguration | ConfigurationDraft): {
  readonly [key: string]: PrintedValue;
} {
  const owner = syncPeriodBlock(config.mode);
  const period = (block: string, milliseconds: number) =>
    formatGoDuration(block === owner ? milliseconds : 0);
  return {
    kind,
    apiVersion,
    ...(Object.keys(config.featureGates).length > 0 && { featureGates: { ...config.featureGates } }),
    clientConnection: { ...config.clientConnection },
    logging: printedLogging(config.logging),
    hostnameOverride: config.hostnameOverride,
    bindAddress: config.bindAddress,
    healthzBindAddress: config.healthzBindAddress,
    metricsBindAddress: config.metricsBindAddress,
    bindAddressHardFail: config.bindAddressHardFail,
    enableProfiling: config.enableProfiling,
    showHiddenMetricsForVersion: config.showHiddenMetricsForVersion,
    mode: config.mode,
    iptables: {
      masqueradeBit: config.iptables.masqueradeBit,
      masqueradeAll: config.mode !== 'nftables' && config.masqueradeAll,
      localhostNodePorts: config.iptables.localhostNodePorts,
      syncPeriod: period('iptables', config.syncPeriod),
      minSyncPeriod: period('iptables', config.minSyncPeriod),
    },
    ipvs: {
      syncPeriod: period('ipvs', config.syncPeriod),
      minSyncPeriod: period('ipvs', config.minSyncPeriod),
      scheduler: config.ipvs.scheduler,
      excludeCIDRs: config.ipvs.excludeCIDRs ?? null,
      strictARP: config.ipvs.strictARP,
      tcpTimeout: formatGoDuration(config.ipvs.tcpTimeout),
      tcpFinTimeout: formatGoDuration(config.ipvs.tcpFinTimeout),
      udpTimeout: formatGoDuration(config.ipvs.udpTimeout),
    },
    nftables: {
      masqueradeBit: config.nftables.masqueradeBit,
      masqueradeAll: config.mode === 'nftables' && config.masqueradeAll,
      syncPeriod: period('nftables', config.syncPeriod),
      minSyncPeriod: period('nftables', config.minSyncPeriod),
    },
    winkernel: { ...config.winkernel },
    detectLocalMode: config.detectLocalMode,
    detectLocal: {
      bridgeInterface: config.detectLocal.bridgeInterface,
      interfaceNamePrefix: config.detectLocal.interfaceNamePrefix,
    },
    clusterCIDR: config.detectLocal.clusterCIDRs.join(','),
    nodePortAddresses: config.nodePortAddresses ?? null,
    oomScoreAdj: config.oomScoreAdj,
    conntrack: {
      maxPerCore: config.conntrack.maxPerCore,
      min: config.conntrack.min,
      tcpEstablishedTimeout: formatGoDuration(config.conntrack.tcpEstablishedTimeout),
      tcpCloseWaitTimeout: formatGoDuration(config.conntrack.tcpCloseWaitTimeout),
      tcpBeLiberal: config.conntrack.tcpBeLiberal,
      udpTimeout: formatGoDuration(config.conntrack.udpTimeout),
      udpStreamTimeout: formatGoDuration(config.conntrack.udpStreamTimeout),
    },
    configSyncPeriod: formatGoDuration(config.configSyncPeriod),
    portRange: '',
    ...(config.windowsRunAsService && { windowsRunAsService: true }),
    ...(config.fairlead.manifests !== '' && { fairlead: { ...config.fairlead } }),
  };
}

function printedLogging(logging: LoggingConfiguration): PrintedValue {
  return {
    ...(logging.format !== '' && { format: logging.format }),
    flushFrequency: logging.flushFrequencyIsInteger
      ? Math.round(logging.flushFrequency * 1e6)
      : formatGoDuration(logging.flushFrequency),
    verbosity: logging.verbosity,
    ...(logging.vmodule.length > 0 && {
      vmodule: logging.vmodule.map(({ filePattern, verbosity }) => ({ filePattern, verbosity })),
    }),
    options: { text: printedStream(logging.options.text), json: printedStream(logging.options.json) },
  };
}

function printedStream(options: LogStreamOptions): PrintedValue {
  return { ...(options.splitStream && { splitStream: true }), infoBufferSize: options.infoBufferSize.text };
}
