import { isLoopback } from '../../base/ip.ts';
import { ctInvalidCounter, type RuleContext } from './rule-context.ts';
import {
  CANARY_CHAIN,
  FIREWALL_CHAIN,
  FORWARD_CHAIN,
  MARK_MASQ_CHAIN,
  POSTROUTING_CHAIN,
} from './top-level-chains.ts';

/** Rules that do not depend on Services, as whole `-A` lines (spec B.1.4). */

/** Keeps neighbours away from services that listen on loopback while node ports answer there (CVE-2020-8558). */
export function firewallRules(context: RuleContext): string {
  if (!context.localhostNodePorts) return '';
  return `-A ${FIREWALL_CHAIN} -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP\n`;
}

/**
 * Packets that connection tracking calls invalid would leave without translation and reset the connection at the
 * client, so they are dropped, unless tracking is liberal and calls hardly any packet invalid.
 */
export function forwardRules(context: RuleContext): string {
  const count = context.counters.has(ctInvalidCounter) ? ` -m nfacct --nfacct-name ${ctInvalidCounter}` : '';
  const invalid = context.conntrackTcpBeLiberal
    ? ''
    : `-A ${FORWARD_CHAIN} -m conntrack --ctstate INVALID${count} -j DROP\n`;
  return (
    invalid +
    `-A ${FORWARD_CHAIN} -m comment --comment "kubernetes forwarding rules" -m mark --mark ${context.mark}/${context.mark} -j ACCEPT\n` +
    `-A ${FORWARD_CHAIN} -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n`
  );
}

/** Input that shows whether rules can count: puts one into a chain that nothing leads to, and takes it out again. */
export function counterTrial(counter: string): readonly string[] {
  const inTransaction = (rules: string) => `*filter\n:${CANARY_CHAIN} - [0:0]\n${rules}COMMIT\n`;
  return [inTransaction(`-A ${CANARY_CHAIN} -m nfacct --nfacct-name ${counter}\n`), inTransaction('')];
}

/** The mark is taken off again, so that a packet that passes twice (IPsec, VXLAN) is masqueraded once. */
export function masqueradeRules(context: RuleContext): string {
  const { mark } = context;
  const random = context.randomFully ? ' --random-fully' : '';
  return (
    `-A ${POSTROUTING_CHAIN} -m mark ! --mark ${mark}/${mark} -j RETURN\n` +
    `-A ${POSTROUTING_CHAIN} -j MARK --xor-mark ${mark}\n` +
    `-A ${POSTROUTING_CHAIN} -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE${random}\n` +
    `-A ${MARK_MASQ_CHAIN} -j MARK --or-mark ${mark}\n`
  );
}

/** Chosen addresses that cannot take node-port traffic: loopback, unless that is supported and asked for. */
export function refusedNodePortAddresses(context: RuleContext): readonly string[] {
  if (context.nodePortAddresses === 'all' || context.localhostNodePorts) return [];
  return context.nodePortAddresses.filter(isLoopback);
}

/** Leads to node ports what is addressed to this node; the end of nat KUBE-SERVICES. */
export function nodePortDispatchRules(context: RuleContext): string {
  const rule = (match: string) =>
    `-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" ${match} -j KUBE-NODEPORTS\n`;
  if (context.nodePortAddresses !== 'all') {
    const refused = refusedNodePortAddresses(context);
    return context.nodePortAddresses
      .filter((ip) => !refused.includes(ip))
      .map((ip) => rule(`-d ${ip}`))
      .join('');
  }
  if (context.localhostNodePorts) return rule('-m addrtype --dst-type LOCAL');
  const loopback = context.family === 'IPv4' ? '127.0.0.0/8' : '::1/128';
  return rule(`-m addrtype --dst-type LOCAL ! -d ${loopback}`);
}
