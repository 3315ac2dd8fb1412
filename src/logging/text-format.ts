import type { LogValue } from './log-value.ts';
import type { SourceLocation } from './source-location.ts';

export type Severity = 'info' | 'warning' | 'error';

/** Everything about one line but its format. */
export interface LogEntry {
  readonly severity: Severity;
  readonly level: number;
  /** Milliseconds since the epoch, fractions allowed. */
  readonly time: number;
  readonly pid: number;
  readonly source: SourceLocation;
  readonly message: string;
  /** The text format prints the message without quotes. */
  readonly isPlain: boolean;
  readonly values: readonly (readonly [string, LogValue])[];
}

const letters: Readonly<Record<Severity, string>> = { info: 'I', warning: 'W', error: 'E' };

/**
 * The line that klog would write (operations 9.2), with its newline:
 * `I0501 10:00:00.000000       1 server.ts:100] "Version info" version="v1.36.2"`. Times are local.
 * A text of several lines is put as an indented block, so that each log line still starts with its header.
 */
export function formatText(entry: LogEntry): string {
  const { source } = entry;
  const pairs = entry.values.map(([key, value]) => ` ${key}${printed(value)}`).join('');
  const header = `${letters[entry.severity]}${timestamp(entry.time)} ${String(entry.pid).padStart(7)}`;
  return `${header} ${source.file}:${source.line}] ${entry.isPlain ? escapeBlockLine(entry.message) : quote(entry.message)}${pairs}\n`;
}

function printed(value: LogValue): string {
  if (value.kind === 'json') return `=${value.text}`;
  if (!value.text.includes('\n')) return `=${quote(value.text)}`;
  const lines = value.text.split('\n').map((line) => `\t${escapeBlockLine(line)}\n`);
  return `=<\n${lines.join('')} >`;
}

function timestamp(time: number): string {
  const date = new Date(time);
  const two = (number: number) => String(number).padStart(2, '0');
  const micros = String(Math.floor((((time % 1000) + 1000) % 1000) * 1000)).padStart(6, '0');
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`;
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '\u0007': '\\a',
  '\u000b': '\\v',
};

/** Quotes as Go's strconv.Quote: printable Unicode stays, control characters and lone surrogates are escaped. */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, (character) => shortEscapes[character]!).replace(unprintable, escaped)}"`;
}

// Control and format characters, lone surrogates, line and paragraph separators.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

function escapeBlockLine(text: string): string {
  return text.replace(unprintable, (character) => (character === '\t' ? character : escaped(character)));
}

function escaped(character: string): string {
  const short = shortEscapes[character];
  if (short !== undefined) return short;
  const code = character.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code < 0x80
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}
