/** What an unquoted YAML scalar means. Integers are exact. */
export type ScalarValue = null | boolean | bigint | number | string;

const words = new Map<string, null | boolean>();
for (const word of ['', '~', 'null', 'Null', 'NULL']) words.set(word, null);
for (const word of ['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'])
  words.set(word, true);
for (const word of ['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'])
  words.set(word, false);

/**
 * The YAML 1.1 meaning of an unquoted scalar, as the library that reads kube-proxy's configuration sees it (operations 2.1):
 * `yes` and `on` are booleans, `0x1f`, `0b1`, `0o17` and `017` are integers, dates and `1:30` stay strings.
 */
export function resolvePlainScalar(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  if (/^[-+]?\.(inf|Inf|INF)$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^\.(nan|NaN|NAN)$/.test(text)) return Number.NaN;
  const digits = text.replaceAll('_', '');
  const integer = parseGoInteger(digits);
  if (integer !== undefined) return integer;
  return /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(digits) ? Number(digits) : text;
}

/** Reads an integer with Go's base prefixes: decimal, `0x`, `0b`, `0o` and a leading `0` for octal. */
export function parseGoInteger(text: string): bigint | undefined {
  const parts = /^([-+]?)(?:(0|[1-9][0-9]*)|0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+))$/.exec(text);
  if (parts === null) return undefined;
  const [, sign, decimal, hex, binary, octal] = parts;
  let size: bigint;
  if (decimal !== undefined) size = BigInt(decimal);
  else if (hex !== undefined) size = BigInt(`0x${hex}`);
  else if (binary !== undefined) size = BigInt(`0b${binary}`);
  else size = BigInt(`0o${octal}`);
  return sign === '-' ? -size : size;
}
