import { systemClock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Invocation } from '../cli/invocation.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { AddressMonitor } from '../kernel/route/address-monitor.ts';
import { hostSysctls } from '../kernel/sysctl/sysctl.ts';
import { RestClientMetrics } from '../metrics/rest-client-metrics.ts';
import type { ProxyPlan } from '../plan/proxy-plan.ts';
import { FamilySync } from '../sync/family-sync.ts';
import { familySinks } from './family-sinks.ts';
import { supportedFamilies } from './ip-families.ts';
import { nodeFacts, planSettings, zoneOf } from './node-settings.ts';
import { NodeWatch } from './node-watch.ts';
import { openSource } from './open-source.ts';
import { ProblemLog } from './problem-log.ts';
import { ServiceNetworks } from './service-networks.ts';

/** How long to wait for the Node's addresses. */
const NODE_WAIT_MS = 3000;

export interface CollectedPlans {
  readonly plans: readonly ProxyPlan[];
  /** All addresses of this node. */
  readonly nodeAddresses: readonly string[];
}

/**
 * Reads all objects once and decides as the running proxy would, without touching the kernel. Problems are logged.
 * Never ends while the source cannot be read; `signal` gives up.
 */
export async function collectPlans(invocation: Invocation, signal: AbortSignal): Promise<CollectedPlans> {
  const { config, logger, nodeName, featureGates, manifestsDir } = invocation;
  const clock = systemClock;
  const addresses = new AddressMonitor({ logger, clock });
  addresses.start();
  const nodeAddresses = addresses.addresses();
  addresses.close();
  const nodes = new NodeWatch(nodeName, clock);
  const networks = new ServiceNetworks(() => {});
  const problems = new ProblemLog(logger);
  const options = {
    interfaceAddresses: nodeAddresses,
    zone: '',
    serviceCIDRs: [],
    allowExternalIPs: featureGates.enabled('AllowServiceExternalIPs'),
  };
  const captures = supportedFamilies(hostSysctls).map((family) => {
    const { promise, resolve } = Promise.withResolvers<ProxyPlan>();
    const settings = planSettings(
      family,
      nodeFacts(nodeName, undefined, config, { ...logger, warn: () => {} }),
      config,
      options,
    );
    const sync = new FamilySync(
      { settings, intervals: { min: 0, retry: 1000, max: 3_600_000 } },
      {
        proxier: capture(resolve),
        observer: silentObserver,
        reportProblem: (p) => problems.report(p),
        reportLostFrontend: (p) => problems.log(p),
        clock,
        logger,
      },
    );
    return { family, sync, plan: promise };
  });
  const stop = new AbortController();
  signal.addEventListener('abort', () => stop.abort(), { once: true });
  const sinks = familySinks(
    captures.map(({ sync }) => sync),
    nodes,
    networks,
    problems,
  );
  const source = await openSource(invocation, { sinks, clock, logger, metrics: new RestClientMetrics() });
  const ended = source.start(stop.signal);
  const untilSynced = manifestsDir !== undefined;
  const node = await nodes.waitFor((n) => n.addresses.length > 0, {
    milliseconds: NODE_WAIT_MS,
    untilSynced,
    signal,
  });
  await networks.whenSynced();
  const facts = nodeFacts(nodeName, node, config, logger);
  for (const { family, sync } of captures) {
    sync.updateSettings(
      planSettings(family, facts, config, {
        ...options,
        zone: zoneOf(node),
        serviceCIDRs: networks.ofFamily(family),
      }),
    );
    void sync.start(stop.signal);
  }
  const plans = await Promise.all(captures.map(({ plan }) => plan));
  stop.abort();
  await ended;
  return { plans, nodeAddresses };
}

function capture(resolve: (plan: ProxyPlan) => void): Proxier {
  return {
    async sync(plan) {
      resolve(plan);
      return { operations: 0 };
    },
    async cleanup() {},
    close() {},
  };
}

const silentObserver = {
  serviceChanged(_family: IpFamily) {},
  endpointsChanged(_family: IpFamily) {},
  queued() {},
  started() {},
  completed() {},
  failed() {},
};
