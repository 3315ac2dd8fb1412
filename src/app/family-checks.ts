import { familyOf, type IpFamily, parseCidr, parseIp } from '../base/ip.ts';
import { splitHostPort } from '../config/host-port.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';

export interface FamilyFindings {
  /** The proxy cannot do its work with this configuration. */
  readonly fatal: readonly string[];
  readonly warnings: readonly string[];
}

export interface FamilyFacts {
  readonly primaryFamily: IpFamily;
  /** Both families are served. */
  readonly dualStack: boolean;
  /** `spec.podCIDRs` of the Node, as far as known. */
  readonly podCIDRs: readonly string[];
}

/**
 * Looks for addresses of the configuration that are all of a family the node does not chiefly use: mostly a mistake
 * (operations 3.4). Lists of mixed families are never one.
 */
export function checkFamilies(config: ProxyConfiguration, facts: FamilyFacts): FamilyFindings {
  const fatal: string[] = [];
  const warnings = nodePortWarnings(config, facts);
  const { primaryFamily, dualStack } = facts;
  const other = (list: readonly string[]) => {
    const families = familiesIn(list);
    return families.size > 0 && !families.has(primaryFamily);
  };
  const found = (isFatal: boolean, field: string, list: readonly string[]) => {
    const text = `${field} (${list.join(', ')}) has no ${primaryFamily} address, the primary family of this node`;
    (isFatal ? fatal : warnings).push(text);
  };
  const { clusterCIDRs } = config.detectLocal;
  if (other(clusterCIDRs))
    found(!dualStack && config.detectLocalMode === 'ClusterCIDR', 'clusterCIDR', clusterCIDRs);
  if (other(facts.podCIDRs))
    found(config.detectLocalMode === 'NodeCIDR', 'node.spec.podCIDRs', facts.podCIDRs);
  if (other([config.winkernel.sourceVip])) found(false, 'winkernel.sourceVip', [config.winkernel.sourceVip]);
  if (dualStack) return { fatal, warnings };
  const excluded = config.ipvs.excludeCIDRs ?? [];
  if (other(excluded)) found(false, 'ipvs.excludeCIDRs', excluded);
  for (const field of ['healthzBindAddress', 'metricsBindAddress'] as const) {
    const host = splitHostPort(config[field])?.host ?? '';
    if (host !== '0.0.0.0' && host !== '::' && other([host])) found(false, field, [host]);
  }
  return { fatal, warnings };
}

function nodePortWarnings(config: ProxyConfiguration, { primaryFamily, podCIDRs }: FamilyFacts): string[] {
  const nodePorts = config.nodePortAddresses ?? [];
  if (nodePorts.length === 0) {
    return [
      'nodePortAddresses is not set: node ports answer on all addresses of this node; `primary` restricts them to its own',
    ];
  }
  if (nodePorts[0] === 'primary') return [];
  const families = familiesIn(nodePorts);
  if (!families.has(primaryFamily))
    return [
      `nodePortAddresses has no ${primaryFamily} network: all ${primaryFamily} addresses take node ports`,
    ];
  const lists = [config.detectLocal.clusterCIDRs, nodePorts, config.ipvs.excludeCIDRs ?? [], podCIDRs];
  if (families.size === 1 && lists.some((list) => familiesIn(list).size === 2)) {
    return [
      `nodePortAddresses has only ${primaryFamily} networks, but the cluster has both families: all addresses of the other take node ports`,
    ];
  }
  return [];
}

function familiesIn(list: readonly string[]): ReadonlySet<IpFamily> {
  const families = new Set<IpFamily>();
  for (const text of list) {
    const ip = parseIp(text);
    const family = ip === undefined ? parseCidr(text)?.family : familyOf(ip);
    if (family !== undefined) families.add(family);
  }
  return families;
}
