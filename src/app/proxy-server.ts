import type { Clock } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { Invocation } from '../cli/invocation.ts';
import { ProxyHealth } from '../health/proxy-health.ts';
import { ServiceHealthServer } from '../health/service-health-server.ts';
import { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import { AddressMonitor } from '../kernel/route/address-monitor.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import { FamilySync } from '../sync/family-sync.ts';
import { ApiEvents } from './api-events.ts';
import { AppError } from './app-error.ts';
import { removeIpvsLink, removeOtherModes } from './cleanup.ts';
import { ConntrackCleaner } from './conntrack-cleaner.ts';
import { checkFamilies } from './family-checks.ts';
import { familySinks } from './family-sinks.ts';
import { followNode } from './follow-node.ts';
import { applyConntrackSettings, applyOomScore, enableRouteLocalnet, loadConntrack } from './host-setup.ts';
import { type AppMetrics, createHttpServers, createMetrics } from './http-servers.ts';
import { requirePrimaryFamily, supportedFamilies } from './ip-families.ts';
import { type OpenMode, openMode } from './modes.ts';
import {
  type NodeFacts,
  nodeFacts,
  nodePortsOf,
  planSettings,
  selectNodePortAddresses,
  zoneOf,
} from './node-settings.ts';
import { NodeWatch } from './node-watch.ts';
import { noteReached } from './note-reached.ts';
import { type OpenedSource, openSource } from './open-source.ts';
import { ProblemLog } from './problem-log.ts';
import { Repairs } from './repairs.ts';
import { ServiceNetworks } from './service-networks.ts';
import { SyncEffects } from './sync-effects.ts';
import { tidyUpAfterStart } from './tidy-up.ts';
import { waitForNode } from './wait-for-node.ts';

/** ServiceCIDRs are asked for with everything else; a server without them must not hold up the first sync. */
const SERVICE_CIDRS_WAIT_MS = 2000;
/** From the first sync of the last family until memory is tidied up. */
const TIDY_AFTER_MS = 500;
/** How long requests and syncs in progress may take to end when the proxy is stopped. */
const STOP_WAIT_MS = 300;
/** What an event that tells of the end may take to get out. */
const LAST_EVENT_WAIT_MS = 1000;
/** The longest time between two syncs (operations 6.1). */
const MAX_SYNC_INTERVAL_MS = 3_600_000;

export interface ProxyServerDependencies {
  readonly clock: Clock;
  readonly sysctls: Sysctls;
  /** Unix time in seconds at which the process started. */
  readonly startTime: number;
}

/**
 * The running proxy: puts source, model, plan and dataplane together in upstream's order of start (operations 3.1) and
 * takes them apart again. Rules stay in the kernel when it ends.
 */
export class ProxyServer {
  readonly #invocation: Invocation;
  readonly #clock: Clock;
  readonly #sysctls: Sysctls;
  readonly #logger: Logger;
  readonly #metrics: AppMetrics;
  readonly #health: ProxyHealth;
  readonly #problems: ProblemLog;
  readonly #events: ApiEvents;
  readonly #effects: SyncEffects;
  readonly #repairs: Repairs;
  readonly #nodes: NodeWatch;
  readonly #networks: ServiceNetworks;
  readonly #addresses: AddressMonitor;
  readonly #syncs = new Map<IpFamily, FamilySync>();
  readonly #waitingForSync = new Set<IpFamily>();
  readonly #closers: (() => void)[] = [];
  #source: OpenedSource | undefined;
  readonly #fatal = Promise.withResolvers<never>();

  constructor(invocation: Invocation, dependencies: ProxyServerDependencies) {
    const { config, logger, nodeName } = invocation;
    this.#invocation = invocation;
    this.#clock = dependencies.clock;
    this.#sysctls = dependencies.sysctls;
    this.#logger = logger;
    this.#metrics = createMetrics(invocation, dependencies.startTime);
    this.#health = new ProxyHealth({ syncPeriod: config.syncPeriod }, dependencies);
    this.#problems = new ProblemLog(logger);
    this.#events = new ApiEvents(nodeName);
    this.#effects = new SyncEffects({
      metrics: this.#metrics.proxy,
      ownMetrics: this.#metrics.own,
      health: this.#health,
      clock: this.#clock,
      logger,
    });
    this.#repairs = new Repairs({ clock: this.#clock, logger }, (family, what) => this.#repair(family, what));
    this.#nodes = new NodeWatch(nodeName, this.#clock);
    this.#networks = new ServiceNetworks(() => this.#updateServiceNetworks());
    this.#addresses = new AddressMonitor({ logger, clock: this.#clock });
  }

  /**
   * Runs until aborted, or with `--init-only` until the host is set up; what is under way then is left alone after a
   * moment. Rejects with what makes it impossible to start or to go on.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#fatal.promise.catch(() => {});
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => this.#clock.schedule(STOP_WAIT_MS, resolve), { once: true });
    });
    try {
      await Promise.race([this.#run(signal), this.#fatal.promise, stopped]);
    } finally {
      this.#close();
    }
  }

  /** Takes apart what was put together, last things first; what fails keeps nothing else from it. */
  #close(): void {
    for (const close of this.#closers.reverse()) {
      try {
        close();
      } catch (error) {
        this.#logger.error('Could not end in order', error);
      }
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { config, nodeName } = this.#invocation;
    this.#addresses.start();
    this.#closers.push(() => this.#addresses.close());
    this.#closers.push(() => this.#repairs.close());
    const supported = supportedFamilies(this.#sysctls);
    if (!supported.includes('IPv6'))
      this.#logger.info('No IPv6 support in this kernel, or it is switched off');
    const mode = await openMode(config, supported, {
      clock: this.#clock,
      logger: this.#logger,
      sysctls: this.#sysctls,
      metrics: this.#metrics.proxy,
      registry: this.#metrics.registry,
      onForeignEdit: (family, what) => this.#repairs.note(family, what),
      onSetAside: (servicePort, reason) => this.#reportRefused(servicePort, reason),
    });
    this.#closers.push(() => mode.close());
    const families = [...mode.proxiers.keys()];
    for (const family of families) this.#syncs.set(family, this.#createSync(family, mode));

    const syncs = [...this.#syncs.values()];
    const { sinks, reached } = noteReached(familySinks(syncs, this.#nodes, this.#networks, this.#problems));
    const source = await openSource(this.#invocation, {
      sinks,
      clock: this.#clock,
      logger: this.#logger,
      metrics: this.#metrics.restClient,
    });
    this.#source = source;
    this.#events.connect((event) => source.postEvent(event));
    this.#registerOwnMetrics();
    const ended = source.start(signal);
    // It is waited for only at the end of the start, which may take minutes.
    ended.catch((error: unknown) => this.#fatal.reject(error));

    const node = await waitForNode(this.#nodes, this.#invocation, { signal, reached });
    if (signal.aborted) return;
    const facts = nodeFacts(nodeName, node, config, this.#logger);
    requirePrimaryFamily(facts.ips.primaryFamily, families);
    this.#checkFamilies(facts, families.length > 1);
    const refused = this.#setUpHost(facts);
    if (this.#invocation.oneShot === 'init-only') {
      if (refused.length === 0) return;
      throw new AppError(
        { code: 'APP_HOST_SETUP_INCOMPLETE' },
        'not all kernel settings could be made: see the warnings above',
      );
    }
    if (refused.length > 0) this.#events.kernelSettingsRefused(refused);
    applyOomScore(config.oomScoreAdj, this.#sysctls, this.#logger);
    await this.#startServers(signal);
    this.#events.starting();
    await Promise.race([this.#networks.whenSynced(), this.#elapsed(SERVICE_CIDRS_WAIT_MS, signal)]);
    for (const sync of this.#syncs.values()) this.#startFamily(sync, facts, mode, signal);
    this.#followNode(facts);
    this.#closers.push(this.#addresses.onChange(() => this.#updateNodePortAddresses(facts)));
    await ended;
  }

  /** What takes privileges and stays when the process ends: all that `--init-only` does. Returns what the kernel refused. */
  #setUpHost(facts: NodeFacts): readonly string[] {
    const { mode, conntrack, iptables } = this.#invocation.config;
    loadConntrack();
    const refused = applyConntrackSettings(conntrack, this.#sysctls, this.#logger);
    const localhost = iptables.localhostNodePorts && nodePortsOf(facts, 'IPv4').containsIPv4Loopback;
    if (mode !== 'iptables' || !localhost || !this.#syncs.has('IPv4')) return refused;
    return [...refused, ...enableRouteLocalnet(this.#sysctls, this.#logger)];
  }

  #checkFamilies({ ips, podCIDRs }: NodeFacts, dualStack: boolean): void {
    const { primaryFamily } = ips;
    const findings = checkFamilies(this.#invocation.config, { primaryFamily, dualStack, podCIDRs });
    for (const warning of findings.warnings) this.#logger.warn(warning);
    if (findings.fatal.length === 0) return;
    throw new AppError(
      { code: 'APP_WRONG_FAMILY', findings: findings.fatal },
      `kube-proxy configuration is incorrect: ${findings.fatal.join('; ')}`,
    );
  }

  #createSync(family: IpFamily, mode: OpenMode): FamilySync {
    const { config, nodeName, featureGates } = this.#invocation;
    const facts = nodeFactsUnknown(nodeName);
    const settings = planSettings(family, facts, config, {
      interfaceAddresses: [],
      zone: '',
      serviceCIDRs: [],
      allowExternalIPs: featureGates.enabled('AllowServiceExternalIPs'),
    });
    const intervals = {
      min: Math.min(config.minSyncPeriod, MAX_SYNC_INTERVAL_MS),
      retry: config.syncPeriod,
      max: MAX_SYNC_INTERVAL_MS,
    };
    const sync = new FamilySync(
      { settings, intervals },
      {
        proxier: mode.proxiers.get(family)!,
        observer: this.#effects,
        reportProblem: (problem) => this.#problems.report(problem),
        reportLostFrontend: (problem) => this.#problems.log(problem),
        clock: this.#clock,
        logger: this.#logger,
      },
    );
    return sync;
  }

  #startFamily(sync: FamilySync, facts: NodeFacts, mode: OpenMode, signal: AbortSignal): void {
    const { config, featureGates } = this.#invocation;
    const { family } = sync;
    this.#waitingForSync.add(family);
    const nodePorts = nodePortsOf(facts, family);
    const serviceHealth = new ServiceHealthServer(
      {
        family,
        addresses: nodePorts.matchAll ? undefined : nodePorts.select(this.#addresses.addresses(family)),
      },
      {
        clock: this.#clock,
        logger: this.#logger,
        isProxyHealthy: () => this.#health.isHealthy(),
        onListenFailure: (service, port, error) => this.#events.healthCheckPortClosed(service, port, error),
      },
    );
    this.#closers.push(() => serviceHealth.close());
    this.#effects.add(family, {
      sync,
      serviceHealth,
      conntrack: this.#openConntrack(family),
      onStarted: () => this.#repairs.begun(family),
      onFirstSync: () => this.#afterFirstSync(family, mode),
    });
    const settings = planSettings(family, facts, config, {
      interfaceAddresses: this.#addresses.addresses(family),
      zone: zoneOf(this.#nodes.node),
      serviceCIDRs: this.#networks.ofFamily(family),
      allowExternalIPs: featureGates.enabled('AllowServiceExternalIPs'),
    });
    sync.updateSettings(settings);
    this.#effects.loopStarted(family);
    void sync.start(signal);
  }

  #afterFirstSync(family: IpFamily, mode: OpenMode): void {
    void removeOtherModes(this.#invocation.config.mode, family, this.#logger, mode.removeLeftovers);
    this.#waitingForSync.delete(family);
    if (this.#waitingForSync.size > 0) return;
    removeIpvsLink(this.#logger);
    this.#clock.schedule(TIDY_AFTER_MS, tidyUpAfterStart);
  }

  #openConntrack(family: IpFamily): ConntrackCleaner | undefined {
    try {
      const cleaner = new ConntrackCleaner(() => ConntrackConnection.open(), {
        clock: this.#clock,
        logger: this.#logger,
        localAddresses: () => this.#addresses.addresses(family),
        onResult: ({ deleted, durationSeconds }) => {
          this.#metrics.proxy.conntrackReconcilerSyncDuration.observe({ ip_family: family }, durationSeconds);
          this.#metrics.proxy.conntrackReconcilerDeletedEntries.inc({ ip_family: family }, deleted);
        },
      });
      this.#closers.push(() => cleaner.close());
      return cleaner;
    } catch (error) {
      this.#logger.error('Conntrack is not available, stale flows will not be removed', error);
      return undefined;
    }
  }

  /** Resolves when both have been tried; never, when one is missing and that is to be the end. */
  async #startServers(signal: AbortSignal): Promise<void> {
    let failed = false;
    const servers = createHttpServers(this.#invocation, {
      health: this.#health,
      metrics: this.#metrics,
      clock: this.#clock,
      logger: this.#logger,
      onFatal: (server, error) => {
        failed = true;
        this.#events.serverFailed(server, error);
        this.#clock.schedule(LAST_EVENT_WAIT_MS, () => this.#fatal.reject(error));
      },
      apiContactAges: () => this.#apiContactAges(),
    });
    for (const server of servers) await server.start(signal);
    if (failed) await this.#fatal.promise;
  }

  #followNode(facts: NodeFacts): void {
    const stop = followNode(this.#nodes, facts, {
      config: this.#invocation.config,
      logger: this.#logger,
      onNode: (node) => {
        this.#health.nodeChanged(node);
        for (const sync of this.#syncs.values()) sync.updateSettings({ zone: zoneOf(node) });
      },
      onFatal: (error) => this.#fatal.reject(error),
    });
    this.#closers.push(stop);
  }

  #updateServiceNetworks(): void {
    for (const [family, sync] of this.#syncs)
      sync.updateSettings({ serviceCIDRs: this.#networks.ofFamily(family) });
  }

  #updateNodePortAddresses(facts: NodeFacts): void {
    for (const [family, sync] of this.#syncs) {
      const addresses = selectNodePortAddresses(
        nodePortsOf(facts, family),
        this.#addresses.addresses(family),
      );
      sync.updateSettings({ nodePortAddresses: addresses });
    }
  }

  #repair(family: IpFamily, what: string): void {
    this.#metrics.own.foreignEditsRepaired.inc({ ip_family: family });
    this.#syncs.get(family)?.requestFullSync(`foreign edit: ${what}`);
  }

  #registerOwnMetrics(): void {
    const { own } = this.#metrics;
    own.setAside.addSource(() => this.#problems.objects());
    own.setAside.addSource(() =>
      [...this.#syncs.values()].flatMap((sync) => [...sync.planner.lostFrontends]),
    );
    own.oldestChangeAge.addSource(() =>
      [...this.#syncs].map(([family, sync]) => [{ ip_family: family }, sync.oldestChangeAge()] as const),
    );
    own.apiContactAge.addSource(() =>
      [...this.#apiContactAges()].map(([resource, age]) => [{ resource }, age] as const),
    );
  }

  *#apiContactAges(): Iterable<readonly [resource: string, seconds: number]> {
    const now = this.#clock.monotonic();
    for (const [resource, contact] of this.#source?.lastContacts() ?? []) {
      if (contact !== undefined) yield [resource, (now - contact) / 1000];
    }
  }

  /** The kernel took all but this ServicePort. */
  #reportRefused(servicePort: string, reason: string): void {
    const [namespace = '', name = ''] = servicePort.split(/[/:]/);
    this.#problems.report({ kind: 'Service', namespace, name, field: servicePort, reason });
    this.#events.setAside(servicePort, reason);
  }

  #elapsed(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(milliseconds, resolve);
      this.#closers.push(() => timer.cancel());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

function nodeFactsUnknown(nodeName: string): NodeFacts {
  return {
    nodeName,
    objectIps: [],
    ips: { primaryFamily: 'IPv4', IPv4: '127.0.0.1', IPv6: '::1' },
    podCIDRs: [],
    nodePortNetworks: [],
  };
}
