import { parseIp } from '../base/ip.ts';
import { shortestFloat32 } from './field-type.ts';
import { formatGoDuration, parseGoDuration } from './go-duration.ts';
import { splitHostPort } from './host-port.ts';
import { parseGoInteger } from './plain-scalar.ts';
import type { VModuleItem } from './proxy-configuration.ts';
import { parseQuantity, type Quantity } from './quantity.ts';

/**
 * How the text of a flag becomes a value (operations 1.1). `previous` is the value of an earlier use on the same command line.
 * `parse` returns `undefined` for text that is none; `expected` then completes "must be ...".
 */
export interface FlagType<T> {
  /** Shown in the help behind the flag's name; '' for booleans. */
  readonly label: string;
  readonly expected: string;
  parse(text: string, previous: T | undefined): T | undefined;
  format(value: T): string;
  /** The value that a flag without `=value` has; absent where a value is needed. */
  readonly implied?: string;
  /** An empty text leaves the flag unset, as if it had not been given. */
  readonly emptyIsUnset?: boolean;
}

const identity = (text: string) => text;

export const stringFlag: FlagType<string> = {
  label: 'string',
  expected: 'text',
  parse: identity,
  format: identity,
};

const trueWords = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const falseWords = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

function parseGoBool(text: string): boolean | undefined {
  if (trueWords.includes(text)) return true;
  return falseWords.includes(text) ? false : undefined;
}

export const boolFlag: FlagType<boolean> = {
  label: '',
  expected: 'true or false',
  parse: parseGoBool,
  format: String,
  implied: 'true',
};

/** `--version`: a boolean, `raw`, or a version to report instead of the real one. */
export const versionFlag: FlagType<string> = {
  label: 'version[=true]',
  expected: 'true, false, raw or a version such as v1.36.2',
  parse(text) {
    if (text === 'raw' || /^v[0-9]+(\.[0-9]+){1,2}([-+].*)?$/.test(text)) return text;
    return parseGoBool(text)?.toString();
  },
  format: identity,
  implied: 'true',
};

export const int32Flag: FlagType<number> = {
  label: 'int32',
  expected: 'a 32-bit whole number',
  parse(text) {
    const value = parseGoInteger(text.replace(/(?<=[0-9a-fA-F])_(?=[0-9a-fA-F])/g, ''));
    return value === undefined || value < -(2n ** 31n) || value >= 2n ** 31n ? undefined : Number(value);
  },
  format: String,
};

export const float32Flag: FlagType<number> = {
  label: 'float32',
  expected: 'a number',
  parse: (text) =>
    /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(text)
      ? shortestFloat32(Number(text))
      : undefined,
  format: String,
};

/** A log level; only plain digits. */
export const levelFlag: FlagType<number> = {
  label: 'level',
  expected: 'a whole number from 0 to 2147483647',
  parse: (text) => (/^[0-9]+$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined),
  format: String,
};

export const durationFlag: FlagType<number> = {
  label: 'duration',
  expected: 'a duration such as 30s or 1h15m',
  parse: parseGoDuration,
  format: formatGoDuration,
};

export const quantityFlag: FlagType<Quantity> = {
  label: 'quantity',
  expected: 'a quantity such as 512, 1K, 2Ki or 3M',
  parse: (text) => parseQuantity(text),
  format: (value) => value.text,
};

export const ipFlag: FlagType<string> = {
  label: 'ip',
  expected: 'an IP address',
  parse: (text) => (parseIp(text) === undefined ? undefined : text),
  format: identity,
  emptyIsUnset: true,
};

/** An address with or without port. Port 0 passes here and is refused by validation. */
export const ipPortFlag: FlagType<string> = {
  label: 'ipport',
  expected: 'IP, IPv4:port or [IPv6]:port',
  parse(text) {
    if (parseIp(text) !== undefined) return text;
    const parts = splitHostPort(text);
    if (parts === undefined || parseIp(parts.host) === undefined || !/^[0-9]+$/.test(parts.port))
      return undefined;
    return Number(parts.port) <= 65535 ? text : undefined;
  },
  format: identity,
  emptyIsUnset: true,
};

/** Comma-separated, CSV quoting; a second use adds to the first, empty text is an empty list. */
export const listFlag: FlagType<readonly string[]> = {
  label: 'list',
  expected: 'a comma-separated list, items with commas in double quotes',
  parse(text, previous) {
    const items = splitCsv(text);
    return items === undefined ? undefined : [...(previous ?? []), ...items];
  },
  format: (values) => `[${values.join(',')}]`,
};

function splitCsv(text: string): string[] | undefined {
  if (text === '') return [];
  const items: string[] = [];
  const item = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|$)/y;
  while (item.lastIndex <= text.length) {
    const match = item.exec(text);
    if (match === null) return undefined;
    items.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '') return items;
  }
  return undefined;
}

/** `A=true,B=false`; a second use adds to the first and wins over it. */
export const boolMapFlag: FlagType<Readonly<Record<string, boolean>>> = {
  label: 'map',
  expected: 'pairs such as GateA=true,GateB=false',
  parse(text, previous) {
    const values = new Map(Object.entries(previous ?? {}));
    for (const pair of text.split(',')) {
      if (pair === '') continue;
      const equals = pair.indexOf('=');
      const value = equals < 0 ? undefined : parseGoBool(pair.slice(equals + 1).trim());
      if (value === undefined) return undefined;
      values.set(pair.slice(0, equals).trim(), value);
    }
    return Object.fromEntries(values);
  },
  format: (values) =>
    Object.keys(values)
      .toSorted()
      .map((name) => `${name}=${values[name]}`)
      .join(','),
};

/** `pattern=N,...`; a second use adds to the first. */
export const vmoduleFlag: FlagType<readonly VModuleItem[]> = {
  label: 'pattern=N,...',
  expected: 'pairs such as proxier=4,reflector*=5',
  parse(text, previous) {
    const items = [...(previous ?? [])];
    for (const pair of text.split(',')) {
      if (pair === '') continue;
      const match = /^([^=]+)=([0-9]+)$/.exec(pair);
      if (match === null || Number(match[2]) >= 2 ** 31) return undefined;
      items.push({ filePattern: match[1] ?? '', verbosity: Number(match[2]) });
    }
    return items;
  },
  format: (items) => items.map((item) => `${item.filePattern}=${item.verbosity}`).join(','),
};
