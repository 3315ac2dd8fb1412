/** What {@link parsePlainYaml} returns for text that it leaves to the YAML library. */
export const notPlain: unique symbol = Symbol('not plain YAML');

/**
 * Reads YAML in the shape that people and `kubectl` write manifests in: block mappings and sequences, plain or quoted
 * scalars on one line, `[]`, `{}`, comments. Anything else, and anything doubtful, gives {@link notPlain}; a value that
 * is returned is the one the YAML library gives for YAML 1.2 (a property test compares them). It is some twenty times
 * as fast as the library and spares most processes loading it.
 */
export function parsePlainYaml(text: string): unknown {
  // Tabs, carriage returns, a byte order mark and other control characters have rules of their own.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]/.test(text)) return notPlain;
  try {
    return new PlainYamlReader(text).document();
  } catch (signal) {
    if (signal === notPlain) return notPlain;
    throw signal;
  }
}

class PlainYamlReader {
  readonly #text: string;
  #next = 0;
  /** The line being looked at: its indentation and its content without it; -1 behind the last line. */
  #indent = -1;
  #content = '';

  constructor(text: string) {
    this.#text = text;
    this.#advance();
  }

  document(): unknown {
    if (this.#indent < 0) return null;
    const value = this.#block();
    if (this.#indent >= 0) throw notPlain;
    return value;
  }

  #block(): unknown {
    return isSequenceEntry(this.#content) ? this.#sequence(this.#indent) : this.#mapping(this.#indent);
  }

  #mapping(indent: number): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    while (this.#indent === indent && !isSequenceEntry(this.#content)) {
      const colon = keyEnd(this.#content);
      if (colon < 0) throw notPlain;
      const key = plainKey(this.#content.slice(0, colon));
      if (Object.hasOwn(mapping, key) || key === '__proto__') throw notPlain;
      mapping[key] = this.#value(contentFrom(this.#content, colon + 1), indent, true);
    }
    if (this.#indent > indent) throw notPlain;
    return mapping;
  }

  #sequence(indent: number): unknown[] {
    const sequence: unknown[] = [];
    while (this.#indent === indent && isSequenceEntry(this.#content)) {
      const rest = contentFrom(this.#content, 1);
      if (isSequenceEntry(rest)) throw notPlain;
      if (startsMapping(rest)) {
        this.#indent = indent + this.#content.length - rest.length;
        this.#content = rest;
        sequence.push(this.#mapping(this.#indent));
      } else {
        sequence.push(this.#value(rest, indent, false));
      }
    }
    if (this.#indent > indent) throw notPlain;
    return sequence;
  }

  /** The value that stands behind a key or dash at `indent`, or begins on the lines after it. */
  #value(rest: string, indent: number, behindKey: boolean): unknown {
    this.#advance();
    if (rest === '' || rest.startsWith('#')) {
      if (this.#indent > indent) return this.#block();
      // A sequence may stand at the indentation of its key.
      const sameIndent = behindKey && this.#indent === indent && isSequenceEntry(this.#content);
      return sameIndent ? this.#sequence(indent) : null;
    }
    // A scalar that goes on in the next line is folded; that is for the library.
    if (this.#indent > indent) throw notPlain;
    return scalar(rest);
  }

  /** Goes to the next line that is neither blank nor a comment. */
  #advance(): void {
    const text = this.#text;
    while (this.#next < text.length) {
      let end = text.indexOf('\n', this.#next);
      if (end < 0) end = text.length;
      let start = this.#next;
      while (start < end && text.charCodeAt(start) === 32) start++;
      const lineStart = this.#next;
      this.#next = end + 1;
      if (start === end || text.charCodeAt(start) === 35) continue;
      this.#indent = start - lineStart;
      while (text.charCodeAt(end - 1) === 32) end--;
      this.#content = text.slice(start, end);
      if (this.#indent === 0 && (this.#content.startsWith('...') || this.#content.startsWith('---')))
        throw notPlain;
      return;
    }
    this.#indent = -1;
    this.#content = '';
  }
}

/** The content from a position on, without leading spaces. */
function contentFrom(content: string, from: number): string {
  let at = from;
  while (content.charCodeAt(at) === 32) at++;
  return content.slice(at);
}

function isSequenceEntry(content: string): boolean {
  return content.charCodeAt(0) === 45 && (content.length === 1 || content.charCodeAt(1) === 32);
}

/** Where the colon behind a key is; -1 where there is none. */
function keyEnd(content: string): number {
  const last = content.length - 1;
  for (let at = content.indexOf(':'); at >= 0; at = content.indexOf(':', at + 1)) {
    if (at === last || content.charCodeAt(at + 1) === 32) return at;
  }
  return -1;
}

function startsMapping(rest: string): boolean {
  return rest !== '' && !'"\'#'.includes(rest[0]!) && keyEnd(rest) > 0;
}

const keyPattern = /^[A-Za-z.][^\s#]*$/;

function plainKey(key: string): string {
  if (isSimple(key) && key.length > longestWord && isLetter(key.charCodeAt(0))) return key;
  if (keyPattern.test(key) && resolve(key) === key) return key;
  throw notPlain;
}

const doubleQuoted = /^"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"(?: +#.*)?$/;
const singleQuoted = /^'((?:[^']|'')*)'(?: +#.*)?$/;
/** Characters that begin something else than a plain scalar. */
const indicators = '?:,[]{}#&*!|>\'"%@`';

function scalar(text: string): unknown {
  if (isSimple(text)) return resolve(text);
  const first = text[0]!;
  if (first === '"') {
    if (!doubleQuoted.test(text)) throw notPlain;
    return JSON.parse(text.slice(0, text.lastIndexOf('"', commentStart(text)) + 1));
  }
  if (first === "'") {
    const match = singleQuoted.exec(text);
    if (match === null) throw notPlain;
    return match[1]!.replaceAll("''", "'");
  }
  if (text === '[]') return [];
  if (text === '{}') return {};
  const comment = text.indexOf(' #');
  const plain = comment < 0 ? text : text.slice(0, comment).trimEnd();
  if (indicators.includes(first) || isSequenceEntry(plain) || keyEnd(plain) >= 0) throw notPlain;
  return resolve(plain);
}

/** Only the whole of a double-quoted scalar has no `"` behind it; with a comment the quote before it counts. */
function commentStart(text: string): number {
  let escaped = false;
  for (let i = 1; i < text.length; i++) {
    if (escaped) escaped = false;
    else if (text[i] === '\\') escaped = true;
    else if (text[i] === '"') return i;
  }
  return text.length;
}

/**
 * Whether a text has only letters, digits, `.`, `/`, `_` and inner `-`: a plain scalar whatever stands around it. Most
 * keys and values of manifests are of this kind.
 */
function isSimple(text: string): boolean {
  if (text.charCodeAt(0) === 45) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if ((code >= 45 && code <= 57) || isLetter(code) || code === 95) continue;
    return false;
  }
  return true;
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

const longestWord = 'false'.length;
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['~', null],
  ...['null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

/** The value of a plain scalar in the core schema of YAML 1.2; numbers other than decimal integers are left alone. */
function resolve(plain: string): unknown {
  if (isLetter(plain.charCodeAt(0)) || plain === '~') {
    return plain.length <= longestWord && words.has(plain) ? words.get(plain) : plain;
  }
  if (/^-?[1-9][0-9]*$|^0$/.test(plain)) {
    const number = Number(plain);
    if (Number.isSafeInteger(number)) return number;
  }
  // What looks like another number, or like .inf and .nan.
  if (!Number.isNaN(Number(plain)) || /^[-+]?(?:\.|0[oxb])/.test(plain)) {
    if (plain === '.' || /^\.[A-Za-z]+[^A-Za-z]/.test(plain)) return plain;
    throw notPlain;
  }
  return plain;
}
