import { existsSync, readFileSync } from 'node:fs';
import type { IpFamily } from '../base/ip.ts';
import { IpsetConnection } from '../kernel/ipset/ipset-connection.ts';
import { RouteConnection } from '../kernel/route/route-connection.ts';

/** What kube-proxy's ipvs mode keeps its frontends' addresses on. */
const DUMMY_LINK = 'kube-ipvs0';

/** Sets of kube-proxy's ipvs mode (operations 3.5); those of IPv6 have other names, cut to the 31 letters of a set name. */
const SETS = [
  'LOOP-BACK',
  'CLUSTER-IP',
  'EXTERNAL-IP',
  'EXTERNAL-IP-LOCAL',
  'LOAD-BALANCER',
  'LOAD-BALANCER-FW',
  'LOAD-BALANCER-LOCAL',
  'LOAD-BALANCER-SOURCE-IP',
  'LOAD-BALANCER-SOURCE-CIDR',
  'NODE-PORT-TCP',
  'NODE-PORT-LOCAL-TCP',
  'NODE-PORT-UDP',
  'NODE-PORT-LOCAL-UDP',
  'NODE-PORT-SCTP-HASH',
  'NODE-PORT-LOCAL-SCTP-HASH',
  'HEALTH-CHECK-NODE-PORT',
  'IPVS-IPS',
];
const PREFIX: Readonly<Record<IpFamily, string>> = { IPv4: 'KUBE-', IPv6: 'KUBE-6-' };

/** Destroys the ipsets of one family, once no rule leads to them any more. Returns what could not be destroyed. */
export function destroyIpvsSets(family: IpFamily): readonly unknown[] {
  // Asking a kernel without ipsets would make it load them.
  if (!existsSync('/sys/module/ip_set')) return [];
  let connection: IpsetConnection;
  try {
    connection = IpsetConnection.open();
  } catch (error) {
    return [error];
  }
  const errors: unknown[] = [];
  for (const set of SETS) {
    try {
      connection.destroy(`${PREFIX[family]}${set}`.slice(0, 31));
    } catch (error) {
      errors.push(error);
    }
  }
  connection.close();
  return errors;
}

/**
 * Deletes the interface that makes the addresses of Services local, so that their traffic is forwarded again; for when
 * all families are served. Virtual servers stay, since their maker cannot be told. Returns what is left, and why.
 */
export function deleteIpvsLink(): readonly unknown[] {
  let connection: RouteConnection | undefined;
  try {
    connection = RouteConnection.open();
    const kind = connection.getLink(DUMMY_LINK)?.kind;
    if (kind === 'dummy') connection.deleteLink(DUMMY_LINK);
  } catch (error) {
    return [error];
  } finally {
    connection?.close();
  }
  const servers = virtualServers();
  if (servers === 0) return [];
  return [
    new Error(
      `${servers} IPVS virtual servers are left: unless another program made them, remove them with ipvsadm --clear`,
    ),
  ];
}

/** Number of virtual servers in this network namespace. */
function virtualServers(): number {
  try {
    const lines = readFileSync('/proc/net/ip_vs', 'utf8').split('\n');
    return lines.filter((line) => /^(TCP|UDP|SCTP|FWM) /.test(line)).length;
  } catch {
    return 0;
  }
}
