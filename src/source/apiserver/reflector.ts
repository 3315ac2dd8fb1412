import type { Clock } from '../../base/clock.ts';
import { describeError, FairleadError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeObject } from '../../kube/kind-decoder.ts';
import type { ObjectSink } from '../../kube/object-sink.ts';
import type { BadObject, WatchEvent } from '../../kube/watch-event.ts';
import { ApiError, isExpired } from './api-error.ts';
import { Backoff } from './backoff.ts';
import { type Accept, jsonType } from './encoding.ts';
import { KnownObjects } from './known-objects.ts';
import type { ListWatch } from './list-watch.ts';
import { type Recovery, recoveryFor } from './recovery.ts';
import { isOlderVersion } from './resource-version.ts';
import { sleep } from './sleep.ts';

export interface ReflectorOptions {
  /** What to ask the server for at first. */
  readonly accept: Accept;
  /** Ask for everything by a watch (WatchList, KEP-3157) as long as the server does not refuse. */
  readonly useWatchList?: boolean;
  /** Items per page where the server pages. */
  readonly pageSize?: number;
  /** A watch on which nothing arrives for this long is cut. The server sends a bookmark about once a minute. */
  readonly silenceMs?: number;
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

export interface ReflectorDependencies<T extends KubeObject> {
  readonly listWatch: ListWatch<T>;
  readonly sink: ObjectSink<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Room for a lost bookmark and a late one. A connection that is dead is found out sooner, by TCP keep-alive; this is for
 * a server, or something before it, that keeps the connection and has stopped working.
 */
const defaultSilenceMs = 130_000;
/** The server ends a watch after a time between this and twice this, so that watches do not all end at once. */
const watchSeconds = 300;
/** A server that takes WatchList sends the initial events without pause; one that ignores it never ends them. */
const initialSilenceMs = 10_000;
/** A watch that ends sooner, without an event, counts as a failure. */
const shortWatchMs = 1000;
/** A watch that was open for so long has ended the trouble before it, whether or not anything happened in it. */
const steadyWatchMs = 10_000;

/**
 * Keeps a sink in step with one resource of the API: everything once, then each change, for as long as `run` runs.
 *
 * - While the server cannot be reached the sink keeps what it has; nothing is deleted before a complete list says so.
 * - A broken watch goes on from the last version seen. Only when the server no longer has that version, or its history
 *   went back, everything is asked for again, and the sink gets the differences.
 * - Every failure is retried for ever, with growing delays.
 */
export class Reflector<T extends KubeObject> {
  readonly #listWatch: ListWatch<T>;
  readonly #known: KnownObjects<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #pageSize: number;
  readonly #silenceMs: number;

  #accept: Accept;
  #useWatchList: boolean;
  /** The next list comes by pages all the same. */
  #pagesNext = false;
  /** Version up to which the sink is in step; `''` before the first list. */
  #version = '';
  /** What the next round begins with. `verify` asks first whether the server still knows the version. */
  #next: 'list' | 'verify' | 'watch' = 'list';
  /** The server must not be asked for a particular version: it may not have it. */
  #askLatest = false;
  /** Versions of before may come again with other content: the server's history went back, or seems to have. */
  #historyReset = false;
  #isFailing = false;
  /** The watch of this round has been granted; `idle` before its first bookmark. */
  #stream: 'none' | 'idle' | 'bookmarked' = 'none';

  constructor(options: ReflectorOptions, dependencies: ReflectorDependencies<T>) {
    const { listWatch, sink, clock, logger, random } = dependencies;
    this.#listWatch = listWatch;
    this.#known = new KnownObjects(sink);
    this.#clock = clock;
    this.#logger = logger.with({ resource: listWatch.resource.name });
    this.#random = random;
    this.#accept = options.accept;
    this.#useWatchList = options.useWatchList ?? true;
    this.#pageSize = options.pageSize ?? 500;
    this.#silenceMs = options.silenceMs ?? defaultSilenceMs;
    this.#backoff = new Backoff(options.minBackoffMs ?? 800, options.maxBackoffMs ?? 30_000, random);
  }

  /** Monotonic time of the last sign of life from the server; undefined before the first. */
  get lastContact(): number | undefined {
    return this.#listWatch.lastContact;
  }

  /** Runs until the signal is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#stream = 'none';
      try {
        await this.#round(signal);
      } catch (error) {
        if (signal.aborted) return;
        await sleep(this.#recover(error), this.#clock, signal);
      }
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    if (this.#streamsLists) return this.#watchEverything(signal);
    if (this.#next === 'list') await this.#listEverything(signal);
    if (this.#next === 'verify') await this.#verify(signal);
    await this.#watch({ resourceVersion: this.#version }, () => this.#silenceMs, signal);
  }

  get #streamsLists(): boolean {
    return this.#next === 'list' && this.#useWatchList && !this.#pagesNext;
  }

  /** All objects as initial events of a watch, which then goes on. */
  async #watchEverything(signal: AbortSignal): Promise<void> {
    this.#known.beginList(!this.#historyReset);
    const parameters = {
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      ...(this.#askLatest ? {} : { resourceVersion: this.#version }),
    };
    await this.#watch(parameters, () => (this.#next === 'list' ? initialSilenceMs : this.#silenceMs), signal);
  }

  /** All objects page by page. */
  async #listEverything(signal: AbortSignal): Promise<void> {
    this.#known.beginList(!this.#historyReset);
    // As client-go asks: any version at first, from then on none older than the last. Limited to pages only where the
    // server answers from etcd: a limit with a particular version would mean exactly that version.
    const version = this.#askLatest ? '' : this.#version || '0';
    const isPaged = version === '' || version === '0';
    const parameters = { ...(isPaged && { limit: this.#pageSize }), resourceVersion: version };
    const handler = {
      item: (object: T) => this.#known.set(object),
      bad: (bad: BadObject) => this.#keepBad(bad),
    };
    let meta = await this.#listWatch.list(this.#accept, parameters, handler, signal);
    while (meta.continue !== '') {
      const page = { limit: this.#pageSize, continue: meta.continue };
      try {
        meta = await this.#listWatch.list(this.#accept, page, handler, signal);
      } catch (error) {
        if (!isExpired(error)) throw error;
        // The pages were not read before the server compacted their version: all at once then, however slow we are.
        this.#logger.verbose(2, 'A list expired between two pages; reading it in one piece');
        this.#known.beginList(!this.#historyReset);
        meta = await this.#listWatch.list(this.#accept, { resourceVersion: version }, handler, signal);
      }
    }
    this.#everythingListed(meta.resourceVersion);
  }

  #everythingListed(version: string): void {
    if (!this.#historyReset && isOlderVersion(version, this.#version)) this.#historyWentBack(version);
    this.#known.endList();
    this.#version = version;
    this.#next = 'watch';
    this.#askLatest = false;
    this.#historyReset = false;
    this.#answers();
    this.#logger.verbose(2, 'In step with the API server', {
      resourceVersion: version,
      objects: this.#known.size,
    });
  }

  /**
   * Whether the server has come at least as far as we have. After a restore from a backup it has not, and would let us
   * watch from a version that does not exist yet, in silence.
   */
  async #verify(signal: AbortSignal): Promise<void> {
    const parameters = { limit: 1, resourceVersion: this.#version, resourceVersionMatch: 'NotOlderThan' };
    const handler = { item: () => {}, bad: () => {} };
    const { resourceVersion } = await this.#listWatch.list(this.#accept, parameters, handler, signal);
    if (isOlderVersion(resourceVersion, this.#version)) this.#historyWentBack(resourceVersion);
    this.#next = 'watch';
  }

  async #watch(
    parameters: Readonly<Record<string, string | boolean>>,
    silenceMs: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const timeoutSeconds = Math.floor(watchSeconds * (1 + this.#random()));
    const start = this.#clock.monotonic();
    let events = 0;
    const onEvent = (event: WatchEvent<T>) => {
      events++;
      this.#apply(event);
    };
    const query = { ...parameters, timeoutSeconds };
    let openedAt: number | undefined;
    const opened = () => {
      openedAt = this.#clock.monotonic();
      this.#stream = 'idle';
    };
    try {
      await this.#listWatch.watch(this.#accept, query, onEvent, opened, silenceMs, signal);
    } catch (error) {
      // Not the trouble of before going on: a load balancer, say, that cuts what is idle.
      if (openedAt !== undefined && this.#clock.monotonic() - openedAt >= steadyWatchMs)
        this.#backoff.reset();
      throw error;
    }
    const lasted = this.#clock.monotonic() - start;
    const { path } = this.#listWatch.resource;
    if (this.#next === 'list' || (events === 0 && lasted < shortWatchMs)) {
      throw new ApiError({ code: 'API_WATCH_ENDED_EARLY', path });
    }
    // The server's own time-out is the normal end. An earlier one may be a restart, and what comes then another history.
    if (lasted < timeoutSeconds * 900) this.#next = 'verify';
    this.#backoff.reset();
    this.#answers();
  }

  #apply(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#advance(event.object.resourceVersion);
        this.#known.set(event.object);
        break;
      case 'DELETED':
        this.#advance(event.object.resourceVersion);
        this.#known.delete(event.object);
        break;
      case 'BOOKMARK':
        if (this.#next === 'list' && event.initialEventsEnd) {
          this.#everythingListed(event.resourceVersion);
        } else {
          this.#stream = 'bookmarked';
          this.#advance(event.resourceVersion);
        }
        break;
      case 'BAD':
        this.#advance(event.bad.resourceVersion);
        if (event.isDeletion && event.bad.name !== '') this.#known.delete(event.bad);
        else this.#keepBad(event.bad);
        break;
      case 'ERROR':
        throw new ApiError({
          code: 'API_STATUS',
          path: this.#listWatch.resource.path,
          httpStatus: event.status.code,
          status: event.status,
          retryAfterMs:
            event.status.retryAfterSeconds > 0 ? event.status.retryAfterSeconds * 1000 : undefined,
        });
    }
  }

  /** Notes the version of an event. Initial events come in the order of their names, so theirs say nothing. */
  #advance(version: string): void {
    if (this.#next === 'list' || version === '') return;
    if (isOlderVersion(version, this.#version)) this.#historyWentBack(version);
    this.#version = version;
    // Not a list but a watch that works ends the back-off: a server may list well and refuse each watch.
    this.#backoff.reset();
    this.#answers();
  }

  #historyWentBack(version: string): never {
    this.#historyReset = true;
    const { path } = this.#listWatch.resource;
    throw new ApiError({ code: 'API_HISTORY_RESET', path, from: this.#version, to: version });
  }

  #keepBad(bad: BadObject): void {
    this.#known.keep(bad);
    const { namespace, name, reason } = bad;
    this.#logger.warn('Skipping an object that cannot be read', { kind: bad.kind, namespace, name, reason });
  }

  #answers(): void {
    if (this.#isFailing) this.#logger.info('The API server answers again');
    this.#isFailing = false;
  }

  /** Decides how to go on after a failure; returns how long to wait. */
  #recover(error: unknown): number {
    const wasListing = this.#next === 'list';
    const recovery: Recovery = recoveryFor(error, {
      isListing: wasListing,
      usesWatchList: this.#streamsLists,
      isOptional: this.#listWatch.resource.isOptional,
      asksForJson: this.#accept === jsonType,
      maybeIdle: this.#stream === 'idle' && !wasListing,
      isStream: this.#stream !== 'none',
    });
    if (recovery.absent) this.#known.markSynced();
    if (recovery.useJson) this.#accept = jsonType;
    if (recovery.withoutWatchList) this.#useWatchList = false;
    this.#pagesNext = recovery.pagesNext;
    if (recovery.askLatest) this.#askLatest = true;
    if (recovery.distrustVersions) this.#historyReset = true;
    if (!wasListing && recovery.next !== 'watch') this.#next = recovery.next;
    const delay = recovery.immediately ? 0 : Math.max(this.#backoff.next(), recovery.minDelayMs);
    const values = { retryInSeconds: Math.round(delay) / 1000, err: describeError(error) };
    if (!(error instanceof FairleadError)) this.#logger.error(recovery.message, error, values);
    else if (recovery.isNormal) this.#logger.verbose(2, recovery.message, values);
    else this.#logger.warn(recovery.message, values);
    this.#isFailing ||= !recovery.isNormal;
    return delay;
  }
}
