import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Invocation } from '../cli/invocation.ts';
import { fairleadVersion } from '../cli/version.ts';
import type { ClusterSinks } from '../kube/cluster-sinks.ts';
import type { RestClientMetrics } from '../metrics/rest-client-metrics.ts';
import type { ApiClientObserver } from '../source/apiserver/api-client.ts';
import type { ApiEvent } from '../source/apiserver/event.ts';
import type { Source } from '../source/source.ts';

export interface OpenSourceDependencies {
  readonly sinks: ClusterSinks;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RestClientMetrics;
}

/** A source with what only an API server offers. */
export interface OpenedSource extends Source {
  /** Writes an event to the API some time; does nothing without an API. */
  postEvent(event: ApiEvent): void;
  /** Monotonic time (ms) of the last sign of life per resource; empty without an API. */
  lastContacts(): ReadonlyMap<string, number | undefined>;
}

/**
 * The source that an invocation asks for. Each is loaded only when it is used. Rejects with CredentialsError where the
 * way to the API server is not configured right.
 */
export async function openSource(
  invocation: Invocation,
  dependencies: OpenSourceDependencies,
): Promise<OpenedSource> {
  const { manifestsDir, nodeName, config, featureGates } = invocation;
  const { sinks, clock, logger, metrics } = dependencies;
  if (manifestsDir !== undefined) {
    const { FilesSource } = await import('../source/files/files-source.ts');
    const files = new FilesSource({ directory: manifestsDir, nodeName }, dependencies);
    return {
      start: (signal) => files.start(signal),
      lastContact: () => files.lastContact(),
      postEvent: () => {},
      lastContacts: () => new Map(),
    };
  }
  const { ApiServerSource } = await import('../source/apiserver/apiserver-source.ts');
  const { acceptContentTypes, contentType, qps, burst } = config.clientConnection;
  const source = new ApiServerSource(
    {
      kubeconfig: invocation.kubeconfig,
      master: invocation.master,
      acceptContentTypes,
      contentType,
      qps,
      burst,
      nodeName,
      hostName: invocation.kernelHostname,
      version: fairleadVersion(),
      reflector: { useWatchList: featureGates.enabled('WatchListClient') },
    },
    sinks,
    { clock, logger, env: process.env, observer: observeRequests(metrics) },
  );
  await source.checkCredentials();
  return source;
}

function observeRequests(metrics: RestClientMetrics): ApiClientObserver {
  return {
    answered({ method, host, code, seconds, rateLimiterSeconds, requestBytes }) {
      metrics.requests.inc({ code, method, host });
      metrics.requestDuration.observe({ verb: method, host }, seconds);
      metrics.rateLimiterDuration.observe({ verb: method, host }, rateLimiterSeconds);
      metrics.requestSize.observe({ verb: method, host }, requestBytes);
    },
    received({ method, host, bytes }) {
      metrics.responseSize.observe({ verb: method, host }, bytes);
    },
    retried({ method, host, code }) {
      metrics.retries.inc({ code, verb: method, host });
    },
  };
}
