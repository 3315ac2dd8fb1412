import { ConfigError } from './config-error.ts';
import { type DecodedFile, decodeFile } from './decode-file.ts';
import { type FeatureGates, resolveFeatureGates } from './feature-gates.ts';
import type { FieldError } from './field-error.ts';
import { type FlagName, flagDefinition, flagNames } from './flags.ts';
import { defaultConfiguration, fromV1alpha1 } from './from-v1alpha1.ts';
import { appendPortIfNeeded } from './host-port.ts';
import type { ParsedFlags } from './parse-flags.ts';
import type { ConfigurationDraft, ProxyConfiguration } from './proxy-configuration.ts';
import { validateConfiguration } from './validate-configuration.ts';
import { validateLogging } from './validate-logging.ts';

/** A configuration that is complete but not yet validated. */
export interface CompletedConfiguration {
  readonly draft: ConfigurationDraft;
  readonly featureGates: FeatureGates;
  readonly warnings: readonly ConfigWarning[];
  /** The path given with `--config`; `undefined` when flags alone made the configuration. */
  readonly file: string | undefined;
  readonly lines: ReadonlyMap<string, number>;
  readonly flags: ParsedFlags;
}

/** Something the operator should know although the start goes on. */
export interface ConfigWarning {
  readonly message: string;
  /** Pairs for the log line. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Makes the effective configuration from flags and file: precedence, defaults, platform defaults, host name flag and
 * feature gates, in the order of operations 1.3 (steps 3 to 8). `readFile` returns the text of the file or throws.
 * Throws {@link ConfigError}.
 */
export function completeConfiguration(
  flags: ParsedFlags,
  readFile: (path: string) => string,
): CompletedConfiguration {
  const { values, given } = flags;
  const warnings: ConfigWarning[] = flags.warnings.map((message) => ({ message, values: {} }));
  const file = values.config === '' ? undefined : values.config;
  const decoded = file === undefined ? undefined : decodeFile(file, readText(file, readFile));
  if (decoded !== undefined && decoded.strictFaults.length > 0) {
    const message = 'Strict decoding of the configuration file failed, going on with lenient decoding';
    warnings.push({ message, values: { err: decoded.strictFaults.join('; ') } });
  }
  const draft = draftOf(flags, decoded);
  applyPlatformDefaults(draft);
  if (values['hostname-override'] !== '') {
    const name = values['hostname-override'].trim().toLowerCase();
    if (name === '') {
      const detail = { code: 'CONFIG_HOSTNAME_EMPTY', origin: '--hostname-override' } as const;
      throw new ConfigError(detail, 'the name given with --hostname-override is blank');
    }
    draft.hostnameOverride = name;
  }
  const featureGates = resolveFeatureGates(draft.featureGates);
  warnings.push(...featureGates.warnings.map((message) => ({ message, values: {} })));
  const ignored = file === undefined ? [] : [...given].filter((name) => !flagDefinition(name).besideConfig);
  if (ignored.length > 0) {
    const values = { flags: ignored.map((name) => `--${name}`).join(' ') };
    warnings.push({ message: 'Flags without effect, because --config is given', values });
  }
  return { draft, featureGates, warnings, file, lines: decoded?.lines ?? new Map(), flags };
}

/** Step 9 of operations 1.3. Throws {@link ConfigError} `CONFIG_LOGGING_INVALID`. */
export function checkLogging(completed: CompletedConfiguration): void {
  const errors = validateLogging(completed.draft.logging, completed.featureGates);
  if (errors.length > 0) throw ConfigError.invalid('CONFIG_LOGGING_INVALID', locate(errors, completed));
}

/** Step 11 of operations 1.3: returns the validated configuration, or throws {@link ConfigError} `CONFIG_INVALID` with all faults. */
export function checkConfiguration(completed: CompletedConfiguration): ProxyConfiguration {
  const { draft, featureGates } = completed;
  const errors = validateConfiguration(draft, featureGates);
  if (errors.length > 0) throw ConfigError.invalid('CONFIG_INVALID', locate(errors, completed));
  // Validation has just confined both words to the known ones; empty ones were filled in as platform defaults.
  return draft as ProxyConfiguration;
}

function readText(file: string, readFile: (path: string) => string): string {
  try {
    return readFile(file);
  } catch (cause) {
    throw new ConfigError({ code: 'CONFIG_FILE_UNREADABLE', file }, `cannot read ${file}`, { cause });
  }
}

function draftOf(flags: ParsedFlags, decoded: DecodedFile | undefined): ConfigurationDraft {
  const draft = decoded === undefined ? defaultConfiguration() : fromV1alpha1(decoded.fields);
  for (const name of flags.given) {
    const { set, besideConfig } = flagDefinition(name);
    if (decoded === undefined || besideConfig) set?.(draft, flags.values[name]);
  }
  if (decoded !== undefined) return draft;
  if (flags.values['write-config-to'] === '') {
    draft.healthzBindAddress = withDeprecatedPort(draft.healthzBindAddress, flags.values['healthz-port']);
    draft.metricsBindAddress = withDeprecatedPort(draft.metricsBindAddress, flags.values['metrics-port']);
  }
  applyPeriodFlags(draft, flags);
  return draft;
}

/** The port flags of old: 0 switches a server off, another port counts where the address has none (operations 1.7). */
export function withDeprecatedPort(address: string, port: number): string {
  return port === 0 ? '' : appendPortIfNeeded(address, port);
}

function applyPeriodFlags(draft: ConfigurationDraft, { values, given }: ParsedFlags): void {
  const block = draft.mode === 'ipvs' ? 'ipvs' : 'iptables';
  if (given.has(`${block}-sync-period`)) draft.syncPeriod = values[`${block}-sync-period`];
  if (given.has(`${block}-min-sync-period`)) draft.minSyncPeriod = values[`${block}-min-sync-period`];
}

function applyPlatformDefaults(draft: ConfigurationDraft): void {
  if (draft.mode === '') draft.mode = 'iptables';
  if (draft.mode === 'nftables' && (draft.nodePortAddresses ?? []).length === 0)
    draft.nodePortAddresses = ['primary'];
  if (draft.detectLocalMode === '') draft.detectLocalMode = 'ClusterCIDR';
}

/** Adds to each error where its value was given. */
function locate(errors: readonly FieldError[], completed: CompletedConfiguration): FieldError[] {
  return errors.map((error) => {
    const place = placeOf(error.source, completed);
    return place === undefined ? error : { ...error, place };
  });
}

function placeOf(source: string, { file, lines, flags }: CompletedConfiguration): string | undefined {
  const path = source.replace(/\[[0-9]+\]$/, '');
  const flag = flagNames.find(
    (name) =>
      flags.given.has(name) &&
      setsField(name, path) &&
      (file === undefined || flagDefinition(name).besideConfig),
  );
  if (flag !== undefined) return `--${flag}`;
  const line = lines.get(source) ?? lines.get(path);
  return file === undefined || line === undefined ? undefined : `${file}:${line}`;
}

function setsField(name: FlagName, path: string): boolean {
  return flagDefinition(name).field?.split(', ').includes(path) === true;
}
