import { systemClock } from '../base/clock.ts';
import type { Invocation } from '../cli/invocation.ts';
import { fairleadVersion } from '../cli/version.ts';
import { hostSysctls } from '../kernel/sysctl/sysctl.ts';
import { removeAllModes } from './cleanup.ts';
import { logCrashes } from './log-crashes.ts';
import { requireNetAdmin } from './privileges.ts';
import { ProxyServer } from './proxy-server.ts';

/**
 * Runs the proxy until a signal ends it, and resolves to the exit status: 0 after a signal. Rejects with what
 * makes it impossible to start or go on. Rules stay in the kernel either way.
 */
export async function runProxy(invocation: Invocation): Promise<number> {
  const { config, logger, nodeName, reportedVersion, configFileWatch } = invocation;
  requireNetAdmin();
  if (invocation.oneShot === 'cleanup') return (await removeAllModes(logger)).length === 0 ? 0 : 1;
  const stopLogging = logCrashes(logger);
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals) => {
    logger.info('Stopping, rules stay in place', { signal: name });
    stop.abort();
  };
  for (const name of endingSignals()) process.on(name, onSignal);
  // A reader of our log that goes away is no reason to stop serving.
  process.on('SIGPIPE', () => {});
  logger.info('Starting', {
    version: fairleadVersion(),
    kubernetes: reportedVersion,
    mode: config.mode,
    node: nodeName,
    source: invocation.manifestsDir ?? 'API server',
  });
  const server = new ProxyServer(invocation, {
    clock: systemClock,
    sysctls: hostSysctls,
    startTime: Date.now() / 1000 - process.uptime(),
  });
  const changed = configFileWatch?.changed.then((reason) => {
    throw reason;
  });
  try {
    await Promise.race([server.run(stop.signal), ...(changed === undefined ? [] : [changed])]);
    return 0;
  } finally {
    stop.abort();
    stopLogging();
    for (const name of endingSignals()) process.off(name, onSignal);
  }
}

/**
 * Signals that end the proxy in order. SIGHUP and SIGQUIT end any process that does not handle them, but the kernel keeps
 * them from a process 1, as in a container.
 */
function endingSignals(): readonly NodeJS.Signals[] {
  return process.pid === 1 ? ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] : ['SIGTERM', 'SIGINT'];
}
