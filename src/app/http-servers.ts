import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Invocation } from '../cli/invocation.ts';
import { fairleadVersion, kubernetesVersion } from '../cli/version.ts';
import { splitHostPort } from '../config/host-port.ts';
import { toV1alpha1 } from '../config/to-v1alpha1.ts';
import { createHealthzServer } from '../health/healthz-server.ts';
import { createMetricsServer } from '../health/metrics-server.ts';
import type { PersistentListener } from '../health/persistent-listener.ts';
import type { ProxyHealth } from '../health/proxy-health.ts';
import type { RootLogger } from '../logging/klog-logger.ts';
import { registerBuildInfo, registerFeatureGates } from '../metrics/component-metrics.ts';
import { sharedExposition } from '../metrics/exposition.ts';
import { FairleadMetrics } from '../metrics/fairlead-metrics.ts';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { Registry } from '../metrics/registry.ts';
import { RestClientMetrics } from '../metrics/rest-client-metrics.ts';
import { SliMetrics } from '../metrics/sli-metrics.ts';

/** All metrics of the process, registered for the mode. */
export interface AppMetrics {
  readonly registry: Registry;
  readonly proxy: ProxyMetrics;
  readonly own: FairleadMetrics;
  readonly restClient: RestClientMetrics;
  readonly slis: SliMetrics;
  /** Unix time in seconds. */
  readonly startTime: number;
}

/** Creates the metrics of a configuration and registers those of its mode; `startTime` as in {@link AppMetrics}. */
export function createMetrics({ config, featureGates, logger }: Invocation, startTime: number): AppMetrics {
  const registry = new Registry(logger);
  const proxy = new ProxyMetrics();
  const own = new FairleadMetrics();
  const restClient = new RestClientMetrics();
  proxy.register(registry, config.mode);
  own.register(registry);
  restClient.register(registry);
  registerProcessMetrics(registry, startTime);
  registerFeatureGates(registry, featureGates.list());
  const [major = '', minor = ''] = kubernetesVersion.replace(/^v/, '').split('.');
  registerBuildInfo(registry, {
    major,
    minor,
    gitVersion: kubernetesVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: `node ${process.version}`,
    compiler: `fairlead ${fairleadVersion()}`,
    platform: `${process.platform}/${process.arch}`,
  });
  return { registry, proxy, own, restClient, slis: new SliMetrics(startTime), startTime };
}

export interface HttpServerDependencies {
  readonly health: ProxyHealth;
  readonly metrics: AppMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A server could not bind and `bindAddressHardFail` is set. */
  readonly onFatal: (server: 'healthz' | 'metrics', error: unknown) => void;
  readonly apiContactAges?: () => Iterable<readonly [resource: string, seconds: number]>;
}

/** The healthz and metrics servers of a configuration, not yet started; healthz is missing where it is switched off. */
export function createHttpServers(
  invocation: Invocation,
  dependencies: HttpServerDependencies,
): readonly PersistentListener[] {
  const { config } = invocation;
  const { health, metrics, clock, logger, onFatal, apiContactAges } = dependencies;
  const servers: PersistentListener[] = [];
  const hardFail = config.bindAddressHardFail;
  const healthz = splitHostPort(config.healthzBindAddress);
  if (healthz !== undefined) {
    servers.push(
      createHealthzServer(
        { host: healthz.host, port: Number(healthz.port), hardFail },
        {
          health,
          clock,
          logger,
          healthzCounter: metrics.proxy.healthz,
          livezCounter: metrics.proxy.livez,
          onFatal: (error) => onFatal('healthz', error),
          ...(apiContactAges === undefined ? {} : { apiContactAges }),
        },
      ),
    );
  }
  const address = splitHostPort(config.metricsBindAddress);
  if (address !== undefined) {
    servers.push(
      createMetricsServer(
        { host: address.host, port: Number(address.port), hardFail },
        metricsContent(invocation, metrics),
        {
          clock,
          logger,
          onFatal: (error) => onFatal('metrics', error),
        },
      ),
    );
  }
  return servers;
}

function metricsContent(
  invocation: Invocation,
  metrics: AppMetrics,
): Parameters<typeof createMetricsServer>[1] {
  const { config, featureGates, flags, logger } = invocation;
  const startedAt = metrics.startTime;
  return {
    metrics: sharedExposition(metrics.registry),
    slis: {
      page: sharedExposition(metrics.slis.registry),
      reset: () => metrics.slis.reset(),
      notePing: () => metrics.slis.notePing(),
    },
    mode: config.mode,
    configz: () => toV1alpha1(config),
    startTime: startedAt,
    ...(featureGates.enabled('ComponentFlagz') && {
      flagz: () => new Map(flags.map(({ name, value }) => [name, value])),
    }),
    ...(featureGates.enabled('ComponentStatusz') && {
      statusz: () => ({
        startTime: startedAt,
        uptimeSeconds: Date.now() / 1000 - startedAt,
        goVersion: `node ${process.version}`,
        binaryVersion: kubernetesVersion.replace(/^v/, ''),
        emulationVersion: kubernetesVersion.replace(/^v/, '').split('.').slice(0, 2).join('.'),
      }),
    }),
    ...(config.enableProfiling && {
      profiling: { setVerbosity: (text: string) => setVerbosity(logger, text) },
    }),
  };
}

/** Sets the log level from the text of a request; returns what is wrong with the text, if anything. */
function setVerbosity(logger: RootLogger, text: string): string | undefined {
  if (!/^-?[0-9]+$/.test(text.trim())) return `${JSON.stringify(text)} is no number`;
  logger.verbosity = Number(text);
  return undefined;
}
