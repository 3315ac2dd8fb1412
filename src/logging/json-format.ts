import type { LogEntry } from './text-format.ts';

const reserved = new Set(['ts', 'caller', 'msg', 'v', 'severity']);

/**
 * The line in Kubernetes' JSON format, with its newline (operations 9.2): `ts` in milliseconds, `caller`, `msg`, `v` for lines
 * that are no errors, then the values. Warnings are marked with `severity`, which Kubernetes has no word for.
 */
export function formatJson(entry: LogEntry): string {
  const fields = [
    `"ts":${entry.time.toFixed(3).replace(/\.?0+$/, '')}`,
    `"caller":${JSON.stringify(`${entry.source.file}:${entry.source.line}`)}`,
    `"msg":${JSON.stringify(entry.message)}`,
  ];
  if (entry.severity !== 'error') fields.push(`"v":${entry.level}`);
  if (entry.severity === 'warning') fields.push('"severity":"warning"');
  for (const [key, value] of entry.values) {
    // A second `msg` would hide the first from most readers.
    const name = reserved.has(key) ? `${key}_` : key;
    fields.push(`${JSON.stringify(name)}:${value.kind === 'json' ? value.text : JSON.stringify(value.text)}`);
  }
  return `{${fields.join(',')}}\n`;
}
