import { parseCidr, parseIp } from '../base/ip.ts';
import type { FeatureGates } from './feature-gates.ts';
import type { FieldError, FieldErrorKind } from './field-error.ts';
import { syncPeriodBlock } from './from-v1alpha1.ts';
import { formatGoDuration } from './go-duration.ts';
import { splitHostPort } from './host-port.ts';
import { type ConfigurationDraft, detectLocalModes, proxyModes } from './proxy-configuration.ts';
import { validateLogging } from './validate-logging.ts';

type Add = (path: string, source: string, value: unknown, message: string, kind?: FieldErrorKind) => void;

/**
 * Checks an effective configuration after platform defaults and returns everything that is wrong with it, in the order of
 * operations 2.4. Paths are upstream's internal ones. The feature gates are not checked again: see `resolveFeatureGates`.
 */
export function validateConfiguration(config: ConfigurationDraft, gates: FeatureGates): FieldError[] {
  const errors: FieldError[] = [];
  const add: Add = (path, source, value, message, kind = 'Invalid value') => {
    errors.push({ field: `KubeProxyConfiguration.${path}`, kind, value, message, source });
  };
  validateModes(config, add);
  validateLinux(config, add);
  if (config.mode !== '' && !(proxyModes as readonly string[]).includes(config.mode)) {
    add(
      'Mode.ProxyMode',
      'mode',
      config.mode,
      'must be iptables, ipvs, nftables or userspace; empty means iptables',
    );
  }
  if (config.clientConnection.burst < 0) {
    add('ClientConnection.Burst', 'clientConnection.burst', config.clientConnection.burst, notNegative);
  }
  validatePeriods(config, add);
  if (parseIp(config.bindAddress) === undefined) {
    add('BindAddress', 'bindAddress', config.bindAddress, 'must be an IP address without brackets or port');
  }
  if (config.healthzBindAddress !== '') {
    validateHostPort('HealthzBindAddress', 'healthzBindAddress', config.healthzBindAddress, add);
  }
  validateHostPort('MetricsBindAddress', 'metricsBindAddress', config.metricsBindAddress, add);
  validateNodePortAddresses(config.nodePortAddresses ?? [], add);
  if (config.showHiddenMetricsForVersion !== '' && config.showHiddenMetricsForVersion !== '1.35') {
    const message = 'must be empty or 1.35, the previous minor version';
    add(
      'ShowHiddenMetricsForVersion',
      'showHiddenMetricsForVersion',
      config.showHiddenMetricsForVersion,
      message,
    );
  }
  validateDetectLocal(config, add);
  errors.push(...validateLogging(config.logging, gates, 'KubeProxyConfiguration.'));
  return errors;
}

const notNegative = 'must not be negative';
const maskBitRange = 'must be a bit number from 0 to 31';
const cidrWanted = 'must be a CIDR such as 10.0.0.0/8 or fd00:1::/64';

function isMarkBit(bit: number): boolean {
  return bit >= 0 && bit <= 31;
}

function validateModes(config: ConfigurationDraft, add: Add): void {
  const bit = config.iptables.masqueradeBit;
  if (!isMarkBit(bit))
    add('KubeProxyIPTablesConfiguration.MasqueradeBit', 'iptables.masqueradeBit', bit, maskBitRange);
  if (config.mode === 'ipvs') {
    const prefix = 'KubeProxyIPVSConfiguration';
    checkNotNegative(`${prefix}.TCPTimeout`, 'ipvs.tcpTimeout', config.ipvs.tcpTimeout, add);
    checkNotNegative(`${prefix}.TCPFinTimeout`, 'ipvs.tcpFinTimeout', config.ipvs.tcpFinTimeout, add);
    checkNotNegative(`${prefix}.UDPTimeout`, 'ipvs.udpTimeout', config.ipvs.udpTimeout, add);
    for (const [index, cidr] of (config.ipvs.excludeCIDRs ?? []).entries()) {
      if (parseCidr(cidr) !== undefined) continue;
      add(`${prefix}.ExcludeCidrs[${index}]`, `ipvs.excludeCIDRs[${index}]`, cidr, cidrWanted);
    }
  }
  const nftBit = config.nftables.masqueradeBit;
  if (config.mode === 'nftables' && !isMarkBit(nftBit)) {
    add('KubeProxyNFTablesConfiguration.MasqueradeBit', 'nftables.masqueradeBit', nftBit, maskBitRange);
  }
}

function validateLinux(config: ConfigurationDraft, add: Add): void {
  const { conntrack, oomScoreAdj } = config;
  const prefix = 'KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration';
  if (conntrack.maxPerCore < 0)
    add(`${prefix}.MaxPerCore`, 'conntrack.maxPerCore', conntrack.maxPerCore, notNegative);
  if (conntrack.min < 0) add(`${prefix}.Min`, 'conntrack.min', conntrack.min, notNegative);
  const timeouts = [
    ['TCPEstablishedTimeout', 'tcpEstablishedTimeout'],
    ['TCPCloseWaitTimeout', 'tcpCloseWaitTimeout'],
    ['UDPTimeout', 'udpTimeout'],
    ['UDPStreamTimeout', 'udpStreamTimeout'],
  ] as const;
  for (const [path, name] of timeouts)
    checkNotNegative(`${prefix}.${path}`, `conntrack.${name}`, conntrack[name], add);
  if (oomScoreAdj < -1000 || oomScoreAdj > 1000) {
    add('KubeProxyLinuxConfiguration.OOMScoreAdj', 'oomScoreAdj', oomScoreAdj, 'must be from -1000 to 1000');
  }
}

function validatePeriods(config: ConfigurationDraft, add: Add): void {
  const { configSyncPeriod, syncPeriod, minSyncPeriod } = config;
  const block = syncPeriodBlock(config.mode);
  const positive = 'must be greater than 0';
  if (configSyncPeriod <= 0) {
    add('ConfigSyncPeriod', 'configSyncPeriod', formatGoDuration(configSyncPeriod), positive);
  }
  if (syncPeriod <= 0) add('SyncPeriod', `${block}.syncPeriod`, formatGoDuration(syncPeriod), positive);
  checkNotNegative('MinSyncPeriod', `${block}.minSyncPeriod`, minSyncPeriod, add);
  if (minSyncPeriod > syncPeriod) {
    // The value shown is the minimum, as upstream shows it.
    const message = `minSyncPeriod must not be longer than syncPeriod (${formatGoDuration(syncPeriod)})`;
    add('SyncPeriod', `${block}.minSyncPeriod`, formatGoDuration(minSyncPeriod), message);
  }
}

function checkNotNegative(path: string, source: string, milliseconds: number, add: Add): void {
  if (milliseconds < 0) add(path, source, formatGoDuration(milliseconds), notNegative);
}

function validateHostPort(path: string, source: string, value: string, add: Add): void {
  const parts = splitHostPort(value);
  if (parts === undefined) {
    add(path, source, value, 'must be IP:port, an IPv6 address in brackets');
    return;
  }
  if (parseIp(parts.host) === undefined)
    add(path, source, parts.host, 'must be an IP address, not a host name');
  const port = /^[-+]?[0-9]+$/.test(parts.port) ? Number(parts.port) : 0;
  if (port < 1 || port > 65535) add(path, source, parts.port, 'must be a port number from 1 to 65535');
}

function validateNodePortAddresses(addresses: readonly string[], add: Add): void {
  for (const [index, address] of addresses.entries()) {
    const path = `NodePortAddresses[${index}]`;
    const source = `nodePortAddresses[${index}]`;
    if (address === 'primary') {
      // What stands behind the first `primary` is not looked at.
      if (addresses.length > 1) add(path, source, address, "'primary' must be the only entry, without CIDRs");
      return;
    }
    if (parseCidr(address) === undefined) add(path, source, address, cidrWanted);
  }
}

function validateDetectLocal(config: ConfigurationDraft, add: Add): void {
  const { bridgeInterface, interfaceNamePrefix, clusterCIDRs } = config.detectLocal;
  const prefix = 'DetectLocalConfiguration';
  switch (config.detectLocalMode) {
    case 'ClusterCIDR':
      validateClusterCidrs(clusterCIDRs, add);
      return;
    case 'BridgeInterface':
      if (bridgeInterface === '') {
        const message = 'must not be empty with detectLocalMode BridgeInterface';
        add(`${prefix}.InterfaceName`, 'detectLocal.bridgeInterface', '', message);
      }
      return;
    case 'InterfaceNamePrefix':
      if (interfaceNamePrefix === '') {
        const message = 'must not be empty with detectLocalMode InterfaceNamePrefix';
        add(`${prefix}.InterfacePrefix`, 'detectLocal.interfaceNamePrefix', '', message);
      }
      return;
    case 'NodeCIDR':
    case '':
      return;
    default: {
      const message = `must be one of ${detectLocalModes.join(', ')}, or empty`;
      add('DetectLocalMode', 'detectLocalMode', config.detectLocalMode, message, 'Unsupported value');
    }
  }
}

function validateClusterCidrs(cidrs: readonly string[], add: Add): void {
  const path = 'DetectLocalConfiguration.ClusterCIDRs';
  const families: string[] = [];
  for (const [index, text] of cidrs.entries()) {
    const cidr = parseCidr(text);
    if (cidr === undefined) add(`${path}[${index}]`, 'clusterCIDR', text, `${cidrWanted}, without blanks`);
    else families.push(cidr.family);
  }
  const oneFamily = cidrs.length === 2 && families.length === 2 && families[0] === families[1];
  if (cidrs.length > 2 || oneFamily) {
    add(path, 'clusterCIDR', cidrs, 'must be a single CIDR or a pair of one IPv4 and one IPv6 CIDR');
  }
}
