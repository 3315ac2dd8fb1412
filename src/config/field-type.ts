import type { FileFault } from './config-error.ts';
import { parseGoDuration } from './go-duration.ts';
import { parseQuantity, type Quantity, zeroQuantity } from './quantity.ts';
import type { DocumentNode } from './yaml-document.ts';

/** What decoding collects besides the value. */
export interface Decoding {
  /** Faults that make the file unusable: wrong types, durations that are none. */
  readonly typeFaults: FileFault[];
  /** Faults that only strict decoding minds: unknown fields, keys given twice. */
  readonly strictFaults: FileFault[];
  /** Line of each field that was given, by its path. */
  readonly lines: Map<string, number>;
}

/**
 * How one field of the file is read. `zero` is the value of an absent field: as in the Go types behind the format,
 * most fields cannot tell absent from zero (operations 2.1). `decode` reports faults and then goes on with `zero`, so that
 * one pass finds all of them.
 */
export interface FieldType<T> {
  readonly zero: T;
  decode(node: DocumentNode, path: string, decoding: Decoding): T;
}

/** The value a field type decodes to. */
export type Decoded<F> = F extends FieldType<infer T> ? T : never;

/** A field for which the given reader knows all accepted values; null is zero unless `nullable` says otherwise. */
function scalar<T>(
  zero: T,
  expected: string,
  read: (value: bigint | number | string | boolean) => T | undefined,
): FieldType<T> {
  return {
    zero,
    decode(node, path, decoding) {
      if (node.kind === 'scalar' && node.value === null) return zero;
      const value = node.kind === 'scalar' && node.value !== null ? read(node.value) : undefined;
      if (value !== undefined) return value;
      decoding.typeFaults.push({
        line: node.line,
        field: path,
        message: `must be ${expected}, not ${describeNode(node)}`,
      });
      return zero;
    },
  };
}

export const text: FieldType<string> = scalar('', 'a string', (value) =>
  typeof value === 'string' ? value : undefined,
);

export const bool: FieldType<boolean> = scalar(false, 'true or false', (value) =>
  typeof value === 'boolean' ? value : undefined,
);

/** A whole number within the bounds. A number written as `1.0` or `1e3` counts as whole. */
function integer(expected: string, min: number, max: number): FieldType<number> {
  return scalar(0, expected, (value) => {
    const number = typeof value === 'bigint' ? Number(value) : value;
    return typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max
      ? number
      : undefined;
  });
}

export const int32 = integer('a 32-bit whole number', -(2 ** 31), 2 ** 31 - 1);
export const uint32 = integer('a 32-bit whole number without sign', 0, 2 ** 32 - 1);

/** A number, rounded to what fits Go's float32 and kept in its shortest decimal form. */
export const float32: FieldType<number> = scalar(0, 'a number', (value) =>
  typeof value === 'bigint' || typeof value === 'number' ? shortestFloat32(Number(value)) : undefined,
);

/** The number with the fewest digits that is the same float32; `undefined` when out of range. */
export function shortestFloat32(number: number): number | undefined {
  const single = Math.fround(number);
  if (!Number.isFinite(single)) return undefined;
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(single.toPrecision(digits));
    if (Math.fround(candidate) === single) return candidate;
  }
  return single;
}

/** A quantity, as string or number. */
export const quantity: FieldType<Quantity> = scalar(
  zeroQuantity,
  'a quantity such as 512, 1K or 2Mi',
  (value) => (typeof value === 'boolean' ? undefined : parseQuantity(String(value))),
);

const goDuration = scalar(0, 'a duration such as 30s or 1h15m', (value) =>
  typeof value === 'string' ? parseGoDuration(value) : undefined,
);

/** A duration in Go syntax, decoded to milliseconds. Null is refused here: it is none of the strings Go would take. */
export const duration: FieldType<number> = {
  zero: 0,
  decode(node, path, decoding) {
    if (node.kind !== 'scalar' || node.value !== null) return goDuration.decode(node, path, decoding);
    const message = 'must be a duration such as 30s or 1h15m, not null; leave the field out for its default';
    decoding.typeFaults.push({ line: node.line, field: path, message });
    return 0;
  },
};

/** A duration as text, or a whole number of nanoseconds; `isInteger` remembers which. */
export const durationOrNanoseconds: FieldType<{ milliseconds: number; isInteger: boolean }> = scalar(
  { milliseconds: 0, isInteger: true },
  'a duration such as 5s, or a whole number of nanoseconds',
  (value) => {
    if (typeof value === 'bigint') return { milliseconds: Number(value) / 1e6, isInteger: true };
    const milliseconds = typeof value === 'string' ? parseGoDuration(value) : undefined;
    return milliseconds === undefined ? undefined : { milliseconds, isInteger: false };
  },
);

/** A field that can tell "not given" (or null) from zero. */
export function optional<T>(type: FieldType<T>): FieldType<T | undefined> {
  return {
    zero: undefined,
    decode: (node, path, decoding) => (isNull(node) ? undefined : type.decode(node, path, decoding)),
  };
}

/** A list; absent and null are `undefined`. */
export function listOf<T>(type: FieldType<T>): FieldType<readonly T[] | undefined> {
  return {
    zero: undefined,
    decode(node, path, decoding) {
      if (isNull(node)) return undefined;
      if (node.kind === 'list')
        return node.items.map((item, index) => type.decode(item, `${path}[${index}]`, decoding));
      decoding.typeFaults.push({
        line: node.line,
        field: path,
        message: `must be a list, not ${describeNode(node)}`,
      });
      return undefined;
    },
  };
}

/** A map with free keys. */
export function mapOf<T>(type: FieldType<T>): FieldType<Readonly<Record<string, T>>> {
  return {
    zero: {},
    decode(node, path, decoding) {
      const values: Record<string, T> = {};
      forEachField(node, path, decoding, (key, value, fieldPath) => {
        Object.defineProperty(values, key, {
          value: type.decode(value, fieldPath, decoding),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      });
      return values;
    },
  };
}

type Fields = Readonly<Record<string, FieldType<unknown>>>;

/** A block with known fields; names are matched exactly (operations 2.1). */
export function block<F extends Fields>(
  fields: F,
): FieldType<{ readonly [Name in keyof F]: Decoded<F[Name]> }> {
  type Value = { readonly [Name in keyof F]: Decoded<F[Name]> };
  const zeros = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, type.zero]));
  return {
    zero: zeros as Value,
    decode(node, path, decoding) {
      const values: Record<string, unknown> = { ...zeros };
      forEachField(node, path, decoding, (key, value, fieldPath, line) => {
        const type = Object.hasOwn(fields, key) ? fields[key] : undefined;
        if (type === undefined) {
          decoding.strictFaults.push({
            line,
            field: fieldPath,
            message: `unknown field${suggestion(key, fields)}`,
          });
          return;
        }
        decoding.lines.set(fieldPath, line);
        values[key] = type.decode(value, fieldPath, decoding);
      });
      return values as Value;
    },
  };
}

/** Calls back for each key of a map; of a key given twice only the last counts. */
function forEachField(
  node: DocumentNode,
  path: string,
  decoding: Decoding,
  callback: (key: string, value: DocumentNode, path: string, line: number) => void,
): void {
  if (isNull(node)) return;
  if (node.kind !== 'map') {
    decoding.typeFaults.push({
      line: node.line,
      field: path,
      message: `must be a block of fields, not ${describeNode(node)}`,
    });
    return;
  }
  const last = new Map<string, (typeof node.entries)[number]>();
  for (const entry of node.entries) {
    const earlier = last.get(entry.key);
    const fieldPath = path === '' ? entry.key : `${path}.${entry.key}`;
    if (earlier !== undefined) {
      const message = `given twice, first on line ${earlier.line}; the last one counts`;
      decoding.strictFaults.push({ line: entry.line, field: fieldPath, message });
    }
    last.set(entry.key, entry);
  }
  for (const [key, entry] of last)
    callback(key, entry.value, path === '' ? key : `${path}.${key}`, entry.line);
}

function suggestion(key: string, fields: Fields): string {
  const match = Object.keys(fields).find((name) => name.toLowerCase() === key.toLowerCase());
  return match === undefined ? ', ignored' : `, ignored; the name is spelt ${match}`;
}

function isNull(node: DocumentNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** How a message names what it found: `the string "abc"`, `the number 3`, `a list`. */
function describeNode(node: DocumentNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'map') return 'a block of fields';
  if (node.value === null) return 'null';
  if (typeof node.value === 'string') return `the string ${JSON.stringify(node.value)}`;
  if (typeof node.value === 'boolean') return String(node.value);
  return `the number ${node.value}`;
}
