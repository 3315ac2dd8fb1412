import type { Logger } from '../base/logger.ts';
import { parseRfc3339 } from '../base/rfc3339.ts';

/** Times kept per Service between two syncs; a Service that changes more often is measured by its first changes. */
const MAX_TIMES_PER_SERVICE = 1000;

/**
 * Collects, per Service, when the changes that are not in the kernel yet were triggered, for the metric
 * `kubeproxy_network_programming_duration_seconds` (spec A.5). The times come from the annotation
 * `endpoints.kubernetes.io/last-change-trigger-time` of EndpointSlices.
 */
export class TriggerTimeTracker {
  readonly #startedAt: number;
  readonly #logger: Logger;
  #times = new Map<string, number[]>();

  /** @param options.startedAt wall clock, milliseconds: older trigger times belong to an earlier process. */
  constructor(options: { startedAt: number; logger: Logger }) {
    this.#startedAt = options.startedAt;
    this.#logger = options.logger;
  }

  /**
   * Notes a slice event that changed something.
   *
   * @param service key of the Service, `namespace/name`.
   * @param annotation as written in the slice, `''` where absent.
   * @param removed the slice is gone: the times collected for its Service are dropped, as they can no longer be told apart.
   * @param previousAnnotation that of the slice this one replaces. An unchanged annotation tells of an earlier change,
   *   which has been counted already.
   */
  noteChange(service: string, annotation: string, removed: boolean, previousAnnotation = ''): void {
    if (removed) {
      this.#times.delete(service);
      return;
    }
    if (annotation === '' || annotation === previousAnnotation) return;
    const time = parseRfc3339(annotation);
    if (time === undefined) {
      this.#logger.warn('Ignoring a trigger time that is no RFC 3339 time', { service, annotation });
      return;
    }
    if (time <= this.#startedAt) return;
    const times = this.#times.get(service);
    if (times === undefined) this.#times.set(service, [time]);
    else if (times.length < MAX_TIMES_PER_SERVICE) times.push(time);
  }

  /** The times collected since the last call (wall clock, milliseconds), by Service; they are forgotten here. */
  take(): Map<string, number[]> {
    const times = this.#times;
    this.#times = new Map();
    return times;
  }
}
