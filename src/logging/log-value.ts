import { describeError, errorCode } from '../base/fairlead-error.ts';
import { isSecretKey, redactText } from './redact.ts';

/** A value that is ready to be printed: strings are text to quote, `json` is text to print as it stands. */
export type LogValue = { readonly kind: 'text' | 'json'; readonly text: string };

const deepest = 8;

/**
 * Makes any value printable, never throwing: numbers, booleans, lists and objects as JSON; errors by their message and
 * causes; credentials taken out; big integers, maps, sets, functions, cycles and what throws while being read included.
 */
export function logValue(key: string, value: unknown): LogValue {
  if (
    isSecretKey(key) &&
    value !== undefined &&
    value !== null &&
    value !== '' &&
    typeof value !== 'boolean'
  ) {
    return { kind: 'text', text: '[redacted]' };
  }
  if (typeof value === 'string') return { kind: 'text', text: redactText(value) };
  if (value instanceof Error) return { kind: 'text', text: errorText(value) };
  try {
    const text = JSON.stringify(plain(value, new Set(), 0));
    return text === undefined ? { kind: 'json', text: 'null' } : { kind: 'json', text };
  } catch {
    return { kind: 'text', text: '[unprintable]' };
  }
}

/** Message and causes of whatever was thrown, without credentials. */
export function errorText(error: unknown): string {
  try {
    return redactText(describeError(error));
  } catch {
    return '[unprintable error]';
  }
}

/** The code of an error, or that of the first cause that has one; system errors have theirs (`ECONNREFUSED`). */
export function errorCodeOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < deepest && current instanceof Error; depth++) {
    const code = errorCode(current) ?? (current as { code?: unknown }).code;
    if (typeof code === 'string') return code;
    current = current.cause;
  }
  return undefined;
}

function plain(value: unknown, open: Set<object>, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'bigint':
      return value.toString();
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'function':
    case 'symbol':
      return String(value.toString()).slice(0, 80);
    case 'object':
      return value === null ? null : plainObject(value, open, depth);
    default:
      return value;
  }
}

function plainObject(value: object, open: Set<object>, depth: number): unknown {
  if (open.has(value)) return '[circular]';
  if (depth >= deepest) return '[nested too deep]';
  if (value instanceof Error) return errorText(value);
  open.add(value);
  try {
    if ('toJSON' in value && typeof value.toJSON === 'function')
      return plain(value.toJSON(), open, depth + 1);
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (Array.isArray(value) || value instanceof Set)
      return [...value].map((item) => plain(item, open, depth + 1));
    const entries: [string, unknown][] =
      value instanceof Map ? [...value].map(([key, item]) => [String(key), item]) : Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, item]) => {
        const hide =
          isSecretKey(key) &&
          (typeof item === 'string' ? item !== '' : typeof item === 'object' && item !== null);
        return [key, hide ? '[redacted]' : plain(item, open, depth + 1)];
      }),
    );
  } finally {
    open.delete(value);
  }
}
