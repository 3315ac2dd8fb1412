import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Invocation } from '../cli/invocation.ts';
import type { ClusterSinks } from '../kube/cluster-sinks.ts';
import type { Source } from '../source/source.ts';

export interface OpenSourceDependencies {
  readonly sinks: ClusterSinks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The source that an invocation asks for. Each is loaded only when it is used: an operator pays for one. */
export async function openSource(
  invocation: Invocation,
  dependencies: OpenSourceDependencies,
): Promise<Source> {
  const { manifestsDir, nodeName } = invocation;
  if (manifestsDir === undefined) throw new Error('not yet');
  const { FilesSource } = await import('../source/files/files-source.ts');
  return new FilesSource({ directory: manifestsDir, nodeName }, dependencies);
}
