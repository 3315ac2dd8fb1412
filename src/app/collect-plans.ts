import { systemClock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import { silentLogger } from '../base/logger.ts';
import type { Invocation } from '../cli/invocation.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { AddressMonitor } from '../kernel/route/address-monitor.ts';
import { hostSysctls } from '../kernel/sysctl/sysctl.ts';
import { RestClientMetrics } from '../metrics/rest-client-metrics.ts';
import type { ProxyPlan } from '../plan/proxy-plan.ts';
import { FamilySync } from '../sync/family-sync.ts';
import { AppError } from './app-error.ts';
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
 * Waits as long as the source cannot be read; when `signal` is aborted first, rejects with AppError
 * `APP_READ_TIMED_OUT`.
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
    // What cannot be known yet is worth no warning: the facts are settled below.
    const unknown = nodeFacts(nodeName, undefined, config, silentLogger);
    const settings = planSettings(family, unknown, config, options);
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
  const gaveUp = givenUp(signal);
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
  await Promise.race([networks.whenSynced(), gaveUp]);
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
  const plans = await Promise.race([Promise.all(captures.map(({ plan }) => plan)), gaveUp]);
  stop.abort();
  await ended;
  return { plans, nodeAddresses };
}

/** Rejects when the signal is aborted. */
function givenUp(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {}); // It may happen while nobody waits for it.
  const error = new AppError(
    { code: 'APP_READ_TIMED_OUT' },
    'the Services and EndpointSlices could not be read in time: see the warnings above',
  );
  signal.addEventListener('abort', () => reject(error), { once: true });
  return promise;
}

function capture(resolve: (plan: ProxyPlan) => void): Proxier {
  return {
    async sync(plan) {
      resolve(plan);
      return { operations: 0 };
    },
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
