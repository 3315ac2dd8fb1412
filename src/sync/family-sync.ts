import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/fairlead-error.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { Proxier, SyncReport } from '../dataplane/proxier.ts';
import type { EndpointSlice } from '../kube/endpoint-slice.ts';
import type { Service } from '../kube/service.ts';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { TriggerTimeTracker } from '../model/network-programming-latency.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import type { ReportProblem } from '../model/service-port.ts';
import { equalSettings, type PlanSettings } from '../plan/plan-settings.ts';
import { Planner } from '../plan/planner.ts';
import type { PlanDiff } from '../plan/proxy-plan.ts';
import { BoundedFrequencyRunner, type RunnerIntervals } from './bounded-frequency-runner.ts';
import type { SyncObserver, SyncPhase } from './sync-observer.ts';
import { UnappliedChanges } from './unapplied-changes.ts';

/** A full sync is done at least this often, to put right what nobody noticed, unless the proxier says that it need not (operations 6.4). */
const FULL_SYNC_EVERY_MS = 3_600_000;

export interface FamilySyncDependencies {
  readonly proxier: Proxier;
  readonly observer: SyncObserver;
  /** What cannot be used of an object; counts until the object changes. */
  readonly reportProblem: ReportProblem;
  /** A ServicePort comes to lose a destination to another; counts as long as `planner.lostFrontends` has it. */
  readonly reportLostFrontend: ReportProblem;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The loop of one address family: collects changes of Services and slices, and brings them into the kernel, at most
 * once per min interval. Nothing is written before both kinds have been delivered in full. A sync is partial when only
 * Services and endpoints changed; settings, failures, foreign edits and the hour ask for a full one (operations 6.4).
 */
export class FamilySync {
  readonly family: IpFamily;
  readonly #services: ServiceChangeTracker;
  readonly #slices: EndpointSliceCache;
  readonly #triggerTimes: TriggerTimeTracker;
  readonly #planner: Planner;
  readonly #runner: BoundedFrequencyRunner;
  readonly #proxier: Proxier;
  readonly #observer: SyncObserver;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #servicesWithHealthCheck = new Set<string>();
  readonly #unapplied: UnappliedChanges;
  #settings: PlanSettings;
  /** Slices of a Service with a UDP port changed since the last sync that ended well: a failed one must not lose that. */
  #udpChanged = false;
  #servicesSynced = false;
  #slicesSynced = false;
  #fullSyncReason: string | undefined = 'start';
  #lastFullSync = Number.NEGATIVE_INFINITY;
  #skipHourlyFullSync = false;
  /** Monotonic: when the next sync was first asked for. */
  #requestedAt: number | undefined;

  constructor(
    options: { readonly settings: PlanSettings; readonly intervals: RunnerIntervals },
    dependencies: FamilySyncDependencies,
  ) {
    const { family, nodeName } = options.settings;
    const { clock, reportProblem, reportLostFrontend } = dependencies;
    this.family = family;
    this.#settings = options.settings;
    this.#proxier = dependencies.proxier;
    this.#observer = dependencies.observer;
    this.#clock = clock;
    this.#logger = dependencies.logger.with({ ipFamily: family });
    this.#services = new ServiceChangeTracker(family, reportProblem);
    this.#slices = new EndpointSliceCache({ family, nodeName, report: reportProblem });
    this.#unapplied = new UnappliedChanges(clock);
    this.#triggerTimes = new TriggerTimeTracker({ startedAt: clock.now(), logger: this.#logger });
    this.#planner = new Planner(options.settings, reportLostFrontend);
    this.#runner = new BoundedFrequencyRunner(
      { name: `sync-${family}`, intervals: options.intervals, run: () => this.#sync() },
      { clock, logger: this.#logger },
    );
  }

  /** Runs until aborted; resolves when the sync in progress has ended. */
  start(signal: AbortSignal): Promise<void> {
    return this.#runner.start(signal);
  }

  setService(service: Service): void {
    this.#noteService(this.#services.update(service));
  }

  deleteService(namespace: string, name: string): void {
    this.#noteService(this.#services.delete(namespace, name));
  }

  setEndpointSlice(slice: EndpointSlice): void {
    const { lastChangeTriggerTime } = slice;
    const before = this.#slices.lastChangeTriggerTime(slice.namespace, slice.serviceName, slice.name);
    const changed = this.#slices.update(slice);
    for (const service of changed)
      this.#triggerTimes.noteChange(service, lastChangeTriggerTime, false, before);
    this.#noteSlice(changed, slice.addressType === this.family);
  }

  deleteEndpointSlice(namespace: string, name: string): void {
    const isOurs = this.#slices.has(namespace, name);
    const changed = this.#slices.delete(namespace, name);
    for (const service of changed) this.#triggerTimes.noteChange(service, '', true);
    this.#noteSlice(changed, isOurs);
  }

  servicesSynced(): void {
    this.#servicesSynced = true;
    this.#requestIfReady();
  }

  endpointSlicesSynced(): void {
    this.#slicesSynced = true;
    this.#requestIfReady();
  }

  /** Takes over new settings; what they change is in the kernel with the next sync, which starts at once. */
  updateSettings(change: Partial<PlanSettings>): void {
    const settings = { ...this.#settings, ...change };
    if (equalSettings(settings, this.#settings)) return;
    this.#settings = settings;
    this.requestFullSync('settings changed');
  }

  /** Asks for a sync that looks at everything again. */
  requestFullSync(reason: string): void {
    this.#fullSyncReason ??= reason;
    this.#requestIfReady();
  }

  /** Seconds since the oldest change arrived that is not in the kernel yet; 0 when there is none. */
  oldestChangeAge(): number {
    return this.#unapplied.oldestAge();
  }

  /** What has been decided, for printing. */
  get planner(): Planner {
    return this.#planner;
  }

  /** Ports of health checks by Service (spec A.1.5), and how many local endpoints are ready behind each. */
  healthChecks(): Map<string, { readonly port: number; readonly localReady: number }> {
    const checks = new Map<string, { port: number; localReady: number }>();
    for (const service of this.#servicesWithHealthCheck) {
      for (const port of this.#services.services.get(service)?.values() ?? []) {
        if (port.healthCheckNodePort === 0) continue;
        checks.set(service, {
          port: port.healthCheckNodePort,
          localReady: this.#slices.localReadyAddresses(service),
        });
      }
    }
    return checks;
  }

  get #ready(): boolean {
    return this.#servicesSynced && this.#slicesSynced;
  }

  #noteService(pending: boolean): void {
    this.#observer.serviceChanged(this.family, this.#services.pendingCount);
    if (pending) this.#noteChange();
  }

  /** Slices of the other family pass by here as well: the observer is told of ours alone. */
  #noteSlice(changed: readonly string[], isOurs: boolean): void {
    if (isOurs) this.#observer.endpointsChanged(this.family, this.#slices.pendingCount);
    if (changed.length > 0) this.#noteChange();
  }

  #noteChange(): void {
    this.#unapplied.note();
    this.#requestIfReady();
  }

  #requestIfReady(): void {
    if (!this.#ready) return;
    this.#requestedAt ??= this.#clock.monotonic();
    this.#observer.queued(this.family);
    this.#runner.run();
  }

  async #sync(): Promise<void> {
    if (!this.#ready) return;
    const start = this.#clock.monotonic();
    const phases = { wait: start - (this.#requestedAt ?? start), plan: 0, apply: 0 };
    this.#requestedAt = undefined;
    this.#unapplied.syncStarted();
    const serviceChanges = this.#services.checkout();
    const sliceChanges = this.#slices.checkout();
    for (const { hasUdp } of sliceChanges.values()) this.#udpChanged ||= hasUdp;
    const triggerTimes = this.#triggerTimes.take();
    this.#observer.started(this.family);
    for (const [service, { after }] of serviceChanges) {
      const hasHealthCheck = [...(after?.values() ?? [])].some((port) => port.healthCheckNodePort !== 0);
      if (hasHealthCheck) this.#servicesWithHealthCheck.add(service);
      else this.#servicesWithHealthCheck.delete(service);
    }
    if (!this.#skipHourlyFullSync && start - this.#lastFullSync >= FULL_SYNC_EVERY_MS)
      this.#fullSyncReason ??= 'periodic';
    let reason = this.#fullSyncReason;
    this.#fullSyncReason = undefined;
    const changed = new Set([...serviceChanges.keys(), ...sliceChanges.keys()]);
    try {
      let outcome: { diff: PlanDiff | undefined; report: SyncReport };
      try {
        outcome = await this.#planAndProgram(reason !== undefined, changed, phases);
      } catch (error) {
        if (reason !== undefined) throw error;
        // What the kernel holds is not what we think: a full sync does not build on it.
        this.#logger.warn('Partial sync failed, looking at everything again', {
          err: describeError(error),
        });
        this.#observer.failed(this.family, false, this.#clock.monotonic() - start, error);
        reason = 'a partial sync failed';
        outcome = await this.#planAndProgram(true, changed, phases);
      }
      const { diff, report } = outcome;
      const end = this.#clock.monotonic();
      if (reason !== undefined) this.#lastFullSync = end;
      this.#skipHourlyFullSync = report.skipHourlyFullSync ?? false;
      const delays: { seconds: number; count: number }[] = [];
      this.#unapplied.syncSucceeded((seconds, count) => delays.push({ seconds, count }));
      this.#logger.verbose(2, 'Synced', {
        full: reason ?? false,
        services: changed.size,
        servicePorts: this.#planner.plan.servicePorts.size,
        operations: report.operations,
        milliseconds: Math.round((end - start) * 100) / 100,
      });
      this.#observer.completed({
        family: this.family,
        full: reason !== undefined,
        milliseconds: end - start,
        phases,
        plan: this.#planner.plan,
        changes: diff,
        report,
        udpEndpointsChanged: this.#takeUdpChanged(),
        triggerTimes,
        delays,
      });
    } catch (error) {
      this.#fullSyncReason = 'the last sync failed';
      this.#observer.failed(this.family, true, this.#clock.monotonic() - start, error);
      throw error;
    }
  }

  #takeUdpChanged(): boolean {
    const changed = this.#udpChanged;
    this.#udpChanged = false;
    return changed;
  }

  async #planAndProgram(
    full: boolean,
    changed: ReadonlySet<string>,
    phases: Record<SyncPhase, number>,
  ): Promise<{ diff: PlanDiff | undefined; report: SyncReport }> {
    const start = this.#clock.monotonic();
    const diff = this.#plan(full, changed);
    const planned = this.#clock.monotonic();
    phases.plan += planned - start;
    try {
      return { diff, report: await this.#proxier.sync(this.#planner.plan, diff) };
    } finally {
      phases.apply += this.#clock.monotonic() - planned;
    }
  }

  #plan(full: boolean, changed: ReadonlySet<string>): PlanDiff | undefined {
    const input = {
      services: this.#services.services,
      endpoints: (service: string, portName: string, protocol: string) =>
        this.#slices.endpoints(service, portName, protocol),
    };
    if (!full) return this.#planner.update(input, changed);
    this.#planner.replan(input, this.#settings);
    return undefined;
  }
}
