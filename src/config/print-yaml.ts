import { resolvePlainScalar } from './plain-scalar.ts';
import type { PrintedValue } from './to-v1alpha1.ts';

/**
 * Prints plain data as block YAML with keys in alphabetical order, in the style in which kube-proxy writes its
 * configuration: lists are not indented below their key, strings are quoted only where they would read as something else.
 */
export function printYaml(value: { readonly [key: string]: PrintedValue }): string {
  return `${mapLines(value).join('\n')}\n`;
}

function mapLines(map: { readonly [key: string]: PrintedValue }): string[] {
  const lines: string[] = [];
  for (const key of Object.keys(map).toSorted()) {
    const value = map[key]!;
    const name = printScalar(key);
    if (isList(value) && value.length > 0) lines.push(`${name}:`, ...value.flatMap(itemLines));
    else if (isMap(value) && Object.keys(value).length > 0)
      lines.push(`${name}:`, ...indent(mapLines(value)));
    else lines.push(`${name}: ${printScalar(value)}`);
  }
  return lines;
}

function itemLines(item: PrintedValue): string[] {
  if (!isMap(item)) return [`- ${printScalar(item)}`];
  const [first, ...rest] = mapLines(item);
  return [`- ${first ?? '{}'}`, ...indent(rest)];
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function isList(value: PrintedValue): value is readonly PrintedValue[] {
  return Array.isArray(value);
}

function isMap(value: PrintedValue): value is { readonly [key: string]: PrintedValue } {
  return typeof value === 'object' && value !== null && !isList(value);
}

function printScalar(value: PrintedValue): string {
  return typeof value === 'string' ? printString(value) : JSON.stringify(value);
}

function printString(text: string): string {
  const readsAsOther = resolvePlainScalar(text) !== text || isTimestamp(text) || isNumberElsewhere(text);
  if (readsAsOther || !isPrintable(text)) return JSON.stringify(text);
  return isPlain(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/.test(text) && !/[\u2028\u2029]/.test(text);
}

// YAML 1.1 readers may take these as numbers (`1:30`, `.`, `1_0.`) or dates, although kube-proxy's own does not.
function isNumberElsewhere(text: string): boolean {
  return /^[-+]?[.0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?([eE][-+]?[0-9]*)?$/.test(text);
}

function isTimestamp(text: string): boolean {
  return /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?$/.test(text);
}

function isPlain(text: string): boolean {
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[-?:]( |$)/.test(text) || /^(---|\.\.\.)/.test(text))
    return false;
  return !/^ | $|: |:$| #/.test(text);
}
