import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { ApiClient } from './api-client.ts';
import { httpStatusOf } from './api-error.ts';
import { type ApiEvent, eventName, eventNamespace, eventObject, microTime } from './event.ts';
import { sleep } from './sleep.ts';

interface Series {
  readonly path: string;
  count: number;
  lastSeen: number;
  /** When the API server was last told. */
  lastWritten: number;
}

/** Repeats within this time become a series of the first event (operations 3.9). */
const seriesMs = 6 * 60_000;
/** The first repeat is told at once, those that follow together: a cluster of nodes with one trouble must not add to it. */
const tellSeriesEveryMs = 5 * 60_000;
const attempts = 12;
const retryMs = 10_000;
/** Events that wait for the API server; more are dropped. */
const maxPending = 100;

/** Writes events to the API. Nobody waits for it, and its failures are only logged. */
export class EventPoster {
  readonly #client: ApiClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reportingInstance: string;
  readonly #series = new Map<string, Series>();
  readonly #stopped = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #pending = 0;

  /** `reportingInstance` is `kube-proxy-<host name>`. */
  constructor(client: ApiClient, reportingInstance: string, clock: Clock, logger: Logger) {
    this.#client = client;
    this.#clock = clock;
    this.#logger = logger;
    this.#reportingInstance = reportingInstance;
  }

  /** Queues an event; they are written one after the other. */
  post(event: ApiEvent): void {
    if (this.#pending >= maxPending || this.#stopped.signal.aborted) return;
    this.#pending++;
    const now = this.#clock.now();
    this.#last = this.#last.then(async () => {
      await this.#write(event, now);
      this.#pending--;
    });
  }

  /** Resolves when all events queued so far were written or given up. */
  flushed(): Promise<void> {
    return this.#last;
  }

  /** Gives up what is not yet written. */
  close(): void {
    this.#stopped.abort();
  }

  async #write(event: ApiEvent, now: number): Promise<void> {
    const signal = this.#stopped.signal;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#send(event, now, signal);
        return;
      } catch (error) {
        const httpStatus = httpStatusOf(error);
        // What the server has looked at and refused it will refuse again.
        const isFinal = httpStatus !== undefined && httpStatus < 500 && httpStatus !== 429;
        if (isFinal || attempt === attempts) {
          this.#logger.verbose(2, 'Could not write an event', {
            reason: event.reason,
            err: describeError(error),
          });
          return;
        }
        await sleep(retryMs, this.#clock, signal);
      }
    }
  }

  async #send(event: ApiEvent, now: number, signal: AbortSignal): Promise<void> {
    for (const [key, { lastSeen }] of this.#series) if (lastSeen + seriesMs < now) this.#series.delete(key);
    const { kind, namespace, name: objectName } = event.regarding;
    const key = [event.type, event.action, event.reason, kind, namespace, objectName].join('\n');
    const series = this.#series.get(key);
    if (series !== undefined && series.count > 1 && now - series.lastWritten < tellSeriesEveryMs) {
      series.count++;
      series.lastSeen = now;
      return;
    }
    if (series !== undefined) {
      const body = { series: { count: series.count + 1, lastObservedTime: microTime(now) } };
      try {
        await this.#request('PATCH', series.path, body, signal);
        series.count++;
        series.lastSeen = now;
        series.lastWritten = now;
        return;
      } catch (error) {
        // Deleted meanwhile: it begins anew, as client-go's does.
        if (httpStatusOf(error) !== 404) throw error;
        this.#series.delete(key);
      }
    }
    const collection = `/apis/events.k8s.io/v1/namespaces/${eventNamespace(event)}/events`;
    const name = eventName(event, now);
    await this.#request('POST', collection, eventObject(event, name, this.#reportingInstance, now), signal);
    this.#series.set(key, { path: `${collection}/${name}`, count: 1, lastSeen: now, lastWritten: now });
  }

  async #request(method: 'POST' | 'PATCH', path: string, body: object, signal: AbortSignal): Promise<void> {
    const headers = {
      Accept: 'application/json',
      'Content-Type': method === 'POST' ? 'application/json' : 'application/merge-patch+json',
    };
    const response = await this.#client.request(
      { method, path, headers, body: JSON.stringify(body) },
      signal,
    );
    // Read, so that the connection can be used again.
    await response.readAll(64 * 1024);
  }
}
