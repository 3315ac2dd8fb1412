import type { ConfigFileWatch } from '../config/config-file-watch.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { RootLogger } from '../logging/klog-logger.ts';

/** A command line that has been read, completed and validated: all that is needed to run the proxy. */
export interface Invocation {
  readonly config: ProxyConfiguration;
  readonly featureGates: FeatureGates;
  /** `cleanup`: remove the rules of all modes; `init-only`: privileged set-up. Both exit then. */
  readonly oneShot: 'cleanup' | 'init-only' | undefined;
  /** Name of the Node object (operations 1.5); `''` with `cleanup`, which needs none. */
  readonly nodeName: string;
  /** Host name as the kernel has it, whatever the node name; for `reportingInstance` of events. */
  readonly kernelHostname: string;
  /** URL of the API server that wins over the kubeconfig; `''` for none. */
  readonly master: string;
  /** `''` for in-cluster credentials, unless `master` is set. */
  readonly kubeconfig: string;
  /** Directory of manifests to serve instead of an API server. */
  readonly manifestsDir: string | undefined;
  /** Open watch of the configuration file; whoever runs the proxy ends with its reason, and closes it. Absent without `--config`. */
  readonly configFileWatch: ConfigFileWatch | undefined;
  /** Every flag with its command-line value, alphabetically; for `/flagz`. */
  readonly flags: readonly { readonly name: string; readonly value: string }[];
  /** `v1.36.2`, or what `--version=vX.Y.Z` says. */
  readonly reportedVersion: string;
  readonly logger: RootLogger;
}
