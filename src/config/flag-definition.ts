import type { FlagType } from './flag-type.ts';
import type { ConfigurationDraft, LogStreamOptions } from './proxy-configuration.ts';

/** Headings of the help text, in its order. */
export const flagGroups = [
  'General',
  'API server',
  'Proxying',
  'NodePorts',
  'Traffic of local pods',
  'iptables mode (nftables and userspace mode use the sync periods too)',
  'ipvs mode',
  'Kernel and process',
  'Health and metrics',
  'Logging',
  'Fairlead only (kube-proxy does not know these)',
  'Deprecated or without effect',
] as const;

export type FlagGroup = (typeof flagGroups)[number];

/** One command-line flag: what it takes, what it means, what it sets. */
export interface FlagDefinition<T> {
  readonly type: FlagType<T>;
  readonly default: T;
  readonly group: FlagGroup;
  readonly help: string;
  /** `true`: counts beside `--config`, and wins over the file. Otherwise it is silently without effect there (operations 1.2). */
  readonly besideConfig: boolean;
  /** The field of the file that holds the same setting. */
  readonly field?: string;
  /** Puts the value into the configuration; absent for flags that are no settings or need more than their own value. */
  readonly set?: (config: ConfigurationDraft, value: T) => void;
  /** What to use instead. */
  readonly deprecated?: string;
  readonly shorthand?: string;
}

/** A flag without effect beside `--config` unless `rest` says so. */
export function define<T>(
  type: FlagType<T>,
  byDefault: NoInfer<T>,
  group: FlagGroup,
  help: string,
  rest: Partial<FlagDefinition<NoInfer<T>>> = {},
): FlagDefinition<T> {
  return { type, default: byDefault, group, help, besideConfig: false, ...rest };
}

type Setter<T> = (config: ConfigurationDraft, value: T) => void;

/** Sets a field of the configuration, at the top or in one of its blocks. */
export function into<Key extends keyof ConfigurationDraft>(key: Key): Setter<ConfigurationDraft[Key]>;
export function into<Block extends keyof ConfigurationDraft, Key extends keyof ConfigurationDraft[Block]>(
  block: Block,
  key: Key,
): Setter<ConfigurationDraft[Block][Key]>;
export function into(first: string, second?: string): Setter<unknown> {
  return (config, value) => {
    const fields = config as unknown as Record<string, unknown>;
    if (second === undefined) fields[first] = value;
    else (fields[first] as Record<string, unknown>)[second] = value;
  };
}

/** Sets an option of one log format. */
export function intoLogStream<
  Format extends keyof ConfigurationDraft['logging']['options'],
  Key extends keyof LogStreamOptions,
>(format: Format, key: Key): Setter<LogStreamOptions[Key]> {
  return (config, value) => {
    config.logging.options[format] = { ...config.logging.options[format], [key]: value };
  };
}
