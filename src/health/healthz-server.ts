import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { formatRfc3339 } from '../base/rfc3339.ts';
import { GuardedHttpServer, type HttpLimits } from './guarded-http-server.ts';
import { type HttpAnswer, type HttpHandler, json, notFound } from './http-answer.ts';
import { type ListenerOptions, PersistentListener } from './persistent-listener.ts';
import type { ProxyHealth } from './proxy-health.ts';

/** What Go prints for a time that was never set. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

/** A counter by HTTP status code. */
export interface CodeCounter {
  inc(labels: { readonly code: string }): void;
}

export interface HealthzDependencies {
  readonly health: ProxyHealth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly healthzCounter: CodeCounter;
  readonly livezCounter: CodeCounter;
  /** Seconds since the API server was last heard, per resource; shown with `?verbose` only. */
  readonly apiContactAges?: () => Iterable<readonly [resource: string, seconds: number]>;
}

/**
 * `/healthz` and `/livez` (operations 4.1). `/healthz` asks whether load balancers should send traffic here: the proxy keeps
 * up and the node is to stay. `/livez` asks about the proxy alone. `?verbose` adds the key `apiContactSeconds`, which
 * has no effect on the status: an API server that is away is no reason to take a working node out.
 */
function healthzHandler(dependencies: HealthzDependencies): HttpHandler {
  return (request) => {
    const verbose = request.query.has('verbose');
    switch (request.path) {
      case '/healthz':
        return answer(dependencies, dependencies.healthzCounter, { withNode: true, verbose });
      case '/livez':
        return answer(dependencies, dependencies.livezCounter, { withNode: false, verbose });
      default:
        return notFound();
    }
  };
}

function answer(
  { health, clock, apiContactAges }: HealthzDependencies,
  counter: CodeCounter,
  { withNode, verbose }: { readonly withNode: boolean; readonly verbose: boolean },
): HttpAnswer {
  const { healthy, nodeEligible, families } = health.report();
  const status = healthy && (nodeEligible || !withNode) ? 200 : 503;
  const now = formatRfc3339(clock.now());
  const updates = Object.values(families).map(({ lastUpdated }) => lastUpdated);
  const latest = updates.length === 0 ? ZERO_TIME : formatRfc3339(Math.max(...updates));
  const started = Object.entries(families).map(([family, { lastUpdated, healthy: familyHealthy }]) => [
    family,
    { lastUpdated: formatRfc3339(lastUpdated), healthy: familyHealthy },
  ]);
  const body = {
    lastUpdated: status === 200 ? now : latest,
    currentTime: now,
    ...(withNode && { nodeEligible }),
    healthy,
    ...(started.length > 0 && { status: Object.fromEntries(started) }),
    ...(verbose &&
      apiContactAges !== undefined && { apiContactSeconds: Object.fromEntries(apiContactAges()) }),
  };
  counter.inc({ code: String(status) });
  return json(status, JSON.stringify(body));
}

/** The healthz server with its listener; not yet started. */
export function createHealthzServer(
  options: Omit<ListenerOptions, 'name'>,
  dependencies: HealthzDependencies & {
    readonly onFatal: (error: unknown) => void;
    readonly limits?: HttpLimits;
  },
): PersistentListener {
  const http = new GuardedHttpServer(healthzHandler(dependencies), dependencies);
  return new PersistentListener({ ...options, name: 'healthz' }, { ...dependencies, http });
}
