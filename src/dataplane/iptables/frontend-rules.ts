import type { ServicePortPlan } from '../../plan/proxy-plan.ts';
import type { ChainDecisions } from './chain-decisions.ts';
import { localhostNodePortsCounter, type RuleContext } from './rule-context.ts';
import { type FrontendChain, frontendChains } from './top-level-chains.ts';

/**
 * The rules of one ServicePort in the chains that all ServicePorts share: whole `-A` lines with their line ends, `''`
 * where there are none.
 */
export type FrontendRules = Readonly<Record<FrontendChain, string>>;

/** The rules that send a frontend's traffic to the chains of its ServicePort, or refuse it (spec B.1.7, 1 to 5). */
export function frontendRules(
  plan: ServicePortPlan,
  decisions: ChainDecisions,
  context: RuleContext,
): FrontendRules {
  const rules: Record<FrontendChain, string> = {
    clusterVerdicts: '',
    externalVerdicts: '',
    healthCheckPorts: '',
    firewall: '',
    services: '',
    nodePorts: '',
  };
  const add = (chain: FrontendChain, comment: string, rest: string) => {
    const text = comment.includes(' ') ? `"${comment}"` : comment;
    rules[chain] += `-A ${frontendChains[chain].chain} -m comment --comment ${text} ${rest}\n`;
  };
  const { name, protocol, internal, external } = decisions;
  const port = plan.servicePort;
  const hasAny = plan.hasAnyEndpoints;
  const to = (ip: string) => `${protocol} -d ${ip} --dport ${port.port}`;
  const target = (verdict: 'reject' | 'drop') => (verdict === 'reject' ? 'REJECT' : 'DROP');
  const why = (verdict: 'reject' | 'drop') =>
    verdict === 'reject' ? `${name} has no endpoints` : `${name} has no local endpoints`;

  if (decisions.clusterIP !== undefined) {
    const match = to(decisions.clusterIP);
    if (internal === 'forward')
      add('services', `${name} cluster IP`, `${match} -j ${decisions.internalChain}`);
    else add('clusterVerdicts', why(internal), `${match} -j ${target(internal)}`);
  }
  for (const ip of decisions.externalIPs) {
    if (hasAny) add('services', `${name} external IP`, `${to(ip)} -j ${decisions.externalChain}`);
    if (external !== 'forward') add('externalVerdicts', why(external), `${to(ip)} -j ${target(external)}`);
  }
  for (const ip of decisions.loadBalancerIPs) {
    if (hasAny) add('services', `${name} loadbalancer IP`, `${to(ip)} -j ${decisions.loadBalancerChain}`);
    if (decisions.usesFirewallChain) {
      add('firewall', `${name} traffic not accepted by ${decisions.firewallChain}`, `${to(ip)} -j DROP`);
    }
    if (external !== 'forward') add('externalVerdicts', why(external), `${to(ip)} -j ${target(external)}`);
  }
  if (decisions.nodePort !== 0) {
    const dport = `--dport ${decisions.nodePort}`;
    if (hasAny) {
      if (context.localhostNodePorts && context.counters.has(localhostNodePortsCounter)) {
        const count = `-m nfacct --nfacct-name ${localhostNodePortsCounter}`;
        add('nodePorts', name, `${protocol} -d 127.0.0.0/8 ${dport} ${count} -j ${decisions.externalChain}`);
      }
      add('nodePorts', name, `${protocol} ${dport} -j ${decisions.externalChain}`);
    }
    if (external !== 'forward') {
      const match = `-m addrtype --dst-type LOCAL ${protocol} ${dport}`;
      add('externalVerdicts', why(external), `${match} -j ${target(external)}`);
    }
  }
  if (port.healthCheckNodePort !== 0) {
    const match = `-m tcp -p tcp --dport ${port.healthCheckNodePort}`;
    add('healthCheckPorts', `${name} health check node port`, `${match} -j ACCEPT`);
  }
  return rules;
}
