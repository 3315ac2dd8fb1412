import { ConfigError } from './config-error.ts';
import { type FlagName, type FlagValues, flagDefinition, flagNames, isFlagName } from './flags.ts';

/** A parsed command line. `values` holds the default of each flag that was not given. */
export interface ParsedFlags {
  readonly values: FlagValues;
  /** Flags that were given, in the order of their first use. */
  readonly given: ReadonlySet<FlagName>;
  /** What to tell the operator, e.g. about deprecated flags. */
  readonly warnings: readonly string[];
}

/**
 * Parses a command line by GNU rules as kube-proxy does (operations 1.1). Throws {@link ConfigError} `CONFIG_FLAG_INVALID` at the
 * first flag that is unknown, lacks its value or has a bad one, and at any argument that is no flag.
 */
export function parseFlags(argv: readonly string[]): ParsedFlags {
  const given = new Map<FlagName, unknown>();
  const warnings: string[] = [];
  const positional: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!;
    if (argument === '--') {
      positional.push(...argv.slice(index + 1));
      break;
    }
    if (argument === '-' || !argument.startsWith('-')) {
      positional.push(argument);
      continue;
    }
    const { shown, name, attached } = splitFlag(argument);
    const { type, deprecated } = flagDefinition(name);
    let text = attached ?? type.implied;
    if (text === undefined) {
      index++;
      text = argv[index];
      if (text === undefined) throw ConfigError.flag(name, `flag ${shown} needs a value: ${type.expected}`);
    }
    if (text === '' && type.emptyIsUnset === true) continue;
    const value = type.parse(text, given.get(name));
    if (value === undefined) {
      throw ConfigError.flag(name, `flag ${shown}: ${JSON.stringify(text)} must be ${type.expected}`);
    }
    if (deprecated !== undefined && !given.has(name))
      warnings.push(`flag ${shown} is deprecated: ${deprecated}`);
    given.set(name, value);
  }
  const unwanted = positional.filter((argument) => argument !== '');
  if (unwanted.length > 0) {
    const list = unwanted.map((argument) => JSON.stringify(argument)).join(' ');
    throw ConfigError.flag('', `there are no arguments besides flags, got ${list}`);
  }
  return { values: allValues(given), given: new Set(given.keys()), warnings };
}

/** All flags with their values as text, in alphabetical order: for the log and for `/flagz`. */
export function flagTexts(flags: ParsedFlags): readonly { readonly name: string; readonly value: string }[] {
  return flagNames
    .toSorted()
    .map((name) => ({ name, value: flagDefinition(name).type.format(flags.values[name]) }));
}

interface SplitFlag {
  readonly shown: string;
  readonly name: FlagName;
  readonly attached: string | undefined;
}

function splitFlag(argument: string): SplitFlag {
  if (!argument.startsWith('--')) return splitShort(argument);
  const equals = argument.indexOf('=');
  const shown = equals < 0 ? argument : argument.slice(0, equals);
  const name = shown.slice(2).replaceAll('_', '-');
  if (!isFlagName(name)) throw ConfigError.flag(name, `unknown flag ${shown}${suggestion(name)}`);
  return { shown, name, attached: equals < 0 ? undefined : argument.slice(equals + 1) };
}

/** `-h`, `-v N`, `-vN`, `-v=N`. */
function splitShort(argument: string): SplitFlag {
  const letter = argument.charAt(1);
  const shown = `-${letter}`;
  const rest = argument.slice(2);
  if (letter === 'h') return { shown, name: 'help', attached: undefined };
  if (letter !== 'v') {
    const hint = argument.length > 2 ? suggestion(argument.slice(1).replace(/=.*/, '')) : '';
    throw ConfigError.flag(letter, `unknown short flag ${shown} in ${argument}${hint}`);
  }
  if (rest === '') return { shown, name: 'v', attached: undefined };
  return { shown, name: 'v', attached: rest.startsWith('=') ? rest.slice(1) : rest };
}

function allValues(given: ReadonlyMap<FlagName, unknown>): FlagValues {
  const values = flagNames.map((name) => [
    name,
    given.has(name) ? given.get(name) : flagDefinition(name).default,
  ]);
  return Object.fromEntries(values) as FlagValues;
}

/** Names the flag that was probably meant: one edit or two away, or one that the text is the start of. */
function suggestion(name: string): string {
  const near = flagNames
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  if (near !== undefined && near.distance <= 2 && name.length > 3)
    return `; did you mean --${near.candidate}?`;
  const longer = flagNames.filter((candidate) => name.length > 3 && candidate.startsWith(name));
  return longer.length === 1 ? `; did you mean --${longer[0]}?` : '';
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
