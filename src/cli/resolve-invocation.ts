import { describeError } from '../base/fairlead-error.ts';
import {
  type CompletedConfiguration,
  checkConfiguration,
  checkLogging,
  completeConfiguration,
} from '../config/complete-configuration.ts';
import { ConfigError } from '../config/config-error.ts';
import { ConfigFileWatch } from '../config/config-file-watch.ts';
import { flagTexts, type ParsedFlags } from '../config/parse-flags.ts';
import { printYaml } from '../config/print-yaml.ts';
import type { LoggingConfiguration, ProxyConfiguration } from '../config/proxy-configuration.ts';
import { toV1alpha1 } from '../config/to-v1alpha1.ts';
import type { RootLogger } from '../logging/klog-logger.ts';
import type { StandardLogOptions } from '../logging/standard-logger.ts';
import type { CommandLineIO } from './command-line-io.ts';
import type { Invocation } from './invocation.ts';
import { kubernetesVersion } from './version.ts';

/** Either something to run, or the exit status when everything asked for is done or has failed. Failures are logged. */
export type Resolved = { readonly invocation: Invocation } | { readonly exitStatus: number };

/** Takes the steps from parsed flags to a validated configuration in upstream's order (operations 1.3, 1.4, 1.5). */
export function resolveInvocation(flags: ParsedFlags, io: CommandLineIO): Resolved {
  const steps = new Steps(flags, io);
  try {
    return steps.take();
  } catch (error) {
    steps.fail(error);
    return { exitStatus: 1 };
  }
}

class Steps {
  readonly #flags: ParsedFlags;
  readonly #io: CommandLineIO;
  /** Until the configured logger stands, errors are written in the text format. */
  #logger: RootLogger;
  #watch: ConfigFileWatch | undefined;
  #step = '';

  constructor(flags: ParsedFlags, io: CommandLineIO) {
    this.#flags = flags;
    this.#io = io;
    this.#logger = io.createLogger(earlyLogOptions);
  }

  take(): Resolved {
    this.#step = 'failed complete';
    const completed = completeConfiguration(this.#flags, this.#io.readFile);
    const unwatchable = this.#openWatch(completed);

    this.#step = 'initialize logging';
    checkLogging(completed);
    this.#logger = this.#io.createLogger(logOptions(completed.draft.logging));
    for (const { message, values } of completed.warnings) this.#logger.warn(message, values);
    if (unwatchable !== undefined) {
      this.#logger.warn('Going on without noticing changes of the configuration file', {
        err: describeError(unwatchable),
      });
    }
    const texts = flagTexts(this.#flags);
    if (this.#logger.enabled(1)) {
      for (const { name, value } of texts) this.#logger.plain(1, `FLAG: --${name}=${JSON.stringify(value)}`);
    }

    this.#step = 'failed validate';
    const config = checkConfiguration(completed);

    this.#step = '';
    if (this.#flags.values['write-config-to'] !== '') {
      this.#write(this.#flags.values['write-config-to'], config);
      this.#end();
      return { exitStatus: 0 };
    }
    return { invocation: this.#invocation(config, completed, texts) };
  }

  fail(error: unknown): void {
    const failure = this.#step === '' ? error : new Error(this.#step, { cause: error });
    this.#logger.error('command failed', failure);
    this.#end();
  }

  /**
   * Returns why the file cannot be watched. On a node with many containers the kernel's inotify instances may be used up:
   * that is no reason to serve nothing, as a watch has nothing to offer but the end.
   */
  #openWatch(completed: CompletedConfiguration): unknown {
    if (completed.file === undefined) return undefined;
    const watch = new ConfigFileWatch(completed.file, this.#io.fileWatcher);
    try {
      watch.open();
    } catch (error) {
      return error;
    }
    this.#watch = watch;
    return undefined;
  }

  #end(): void {
    this.#watch?.close();
    this.#logger.close();
  }

  #write(file: string, config: ProxyConfiguration): void {
    try {
      this.#io.writeFile(file, printYaml(toV1alpha1(config)));
    } catch (cause) {
      throw new ConfigError(
        { code: 'CONFIG_UNWRITABLE', file },
        `cannot write the configuration to ${file}`,
        { cause },
      );
    }
    this.#logger.info('Wrote configuration', { file });
  }

  #invocation(
    config: ProxyConfiguration,
    completed: CompletedConfiguration,
    texts: Invocation['flags'],
  ): Invocation {
    const { values } = this.#flags;
    const kernelHostname = this.#io.kernelHostname();
    const oneShot = values.cleanup ? 'cleanup' : values['init-only'] ? 'init-only' : undefined;
    return {
      config,
      featureGates: completed.featureGates,
      oneShot,
      nodeName: oneShot === 'cleanup' ? '' : nodeName(config.hostnameOverride, kernelHostname),
      kernelHostname,
      master: values.master,
      kubeconfig: config.clientConnection.kubeconfig,
      manifestsDir: config.fairlead.manifests === '' ? undefined : config.fairlead.manifests,
      configFileWatch: this.#watch,
      flags: texts,
      reportedVersion: values.version.startsWith('v') ? values.version : kubernetesVersion,
      logger: this.#logger,
    };
  }
}

/**
 * The name of this node's Node object (operations 1.5): the override, which a flag has already put before the file's, or the
 * kernel's host name; trimmed, in lower case. Throws {@link ConfigError} `CONFIG_HOSTNAME_EMPTY`.
 */
function nodeName(hostnameOverride: string, kernelHostname: string): string {
  const name = (hostnameOverride === '' ? kernelHostname : hostnameOverride).trim().toLowerCase();
  if (name !== '') return name;
  throw new ConfigError(
    { code: 'CONFIG_HOSTNAME_EMPTY', origin: hostnameOverride === '' ? 'kernel' : 'hostnameOverride' },
    hostnameOverride === '' ? 'the host name is empty' : 'hostnameOverride is blank',
  );
}

const earlyLogOptions: StandardLogOptions = {
  format: 'text',
  verbosity: 0,
  vmodule: [],
  flushFrequency: 5_000,
  splitStream: false,
  infoBufferSize: 0,
};

function logOptions(logging: LoggingConfiguration): StandardLogOptions {
  const format = logging.format === 'json' ? 'json' : 'text';
  const { splitStream, infoBufferSize } = logging.options[format];
  const { verbosity, vmodule, flushFrequency } = logging;
  return { format, verbosity, vmodule, flushFrequency, splitStream, infoBufferSize: infoBufferSize.value };
}
