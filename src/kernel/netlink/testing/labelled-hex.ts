import { align4 } from '../attribute-writer.ts';
import { readHostU16, readHostU32 } from '../byte-order.ts';
import { MESSAGE_HEADER, readMessages } from '../message.ts';

/** What {@link labelledHex} calls things; unknown types are printed as numbers. */
export interface HexLabels {
  /** Name of a message type, e.g. `NEWTABLE`. */
  message?(type: number): string | undefined;
  /** Bytes of the family header behind nlmsghdr; default 4 (nfgenmsg). */
  headerLength?(type: number): number;
}

/**
 * Prints netlink messages as hex, four bytes per line: header fields with their names, attributes indented by
 * nesting with their type and length. Nested lists are recognised by the NLA_F_NESTED flag only.
 */
export function labelledHex(datagram: Buffer, labels: HexLabels = {}): string {
  const lines: string[] = [];
  for (const message of readMessages(datagram)) {
    const { bytes, start, end, type } = message;
    const name = labels.message?.(type) ?? `type ${type}`;
    lines.push(`${word(bytes, start)}  ${name}, length ${readHostU32(bytes, start)}`);
    lines.push(`${word(bytes, start + 4)}  type ${type}, flags 0x${message.flags.toString(16)}`);
    lines.push(`${word(bytes, start + 8)}  sequence ${message.sequence}`);
    lines.push(`${word(bytes, start + 12)}  port ${message.portId}`);
    const headerLength = labels.headerLength?.(type) ?? 4;
    for (let at = start + MESSAGE_HEADER; at < start + MESSAGE_HEADER + headerLength; at += 4) {
      lines.push(`${word(bytes, at)}  family header`);
    }
    attributes(bytes, start + MESSAGE_HEADER + headerLength, end, '  ', lines);
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Compares a frame with a labelled golden and returns `undefined` when the bytes agree. Otherwise both sides, line
 * by line, with `!` in front of those that differ. Labels are comments: only the hex of the golden counts.
 */
export function diffLabelledHex(
  golden: string,
  datagram: Buffer,
  labels: HexLabels = {},
): string | undefined {
  const hex = (line: string) => line.slice(0, 11).trim();
  const want = golden.split('\n').filter((line) => hex(line) !== '');
  const got = labelledHex(datagram, labels)
    .split('\n')
    .filter((line) => hex(line) !== '');
  const out: string[] = [];
  let differs = false;
  for (let i = 0; i < Math.max(want.length, got.length); i++) {
    const left = want[i] ?? '';
    const right = got[i] ?? '';
    const same = hex(left) === hex(right);
    differs ||= !same;
    out.push(`${same ? ' ' : '!'} ${left.padEnd(60)} | ${right}`);
  }
  return differs ? out.join('\n') : undefined;
}

function attributes(bytes: Buffer, from: number, end: number, indent: string, lines: string[]): void {
  let at = from;
  while (at + 4 <= end) {
    const length = readHostU16(bytes, at);
    const rawType = readHostU16(bytes, at + 2);
    const nested = (rawType & 0x8000) !== 0;
    lines.push(
      `${word(bytes, at)}  ${indent}attribute ${rawType & 0x3fff}, length ${length}${nested ? ', nested' : ''}`,
    );
    const valueEnd = Math.min(at + align4(Math.max(length, 4)), end);
    if (nested) attributes(bytes, at + 4, at + length, `${indent}  `, lines);
    else
      for (let v = at + 4; v < valueEnd; v += 4)
        lines.push(`${word(bytes, v)}  ${indent}  ${text(bytes, v)}`);
    at = valueEnd;
  }
}

function word(bytes: Buffer, at: number): string {
  return [...bytes.subarray(at, at + 4)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(' ')
    .padEnd(11);
}

function text(bytes: Buffer, at: number): string {
  const part = [...bytes.subarray(at, at + 4)];
  return part.map((byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
}
