import { formatFloat } from './format-float.ts';
import type { HistogramValue, MetricFamily } from './metric-family.ts';

/** Prometheus text exposition format 0.0.4, byte for byte as Go's `expfmt` writes it. Expects gathered, sorted families. */
export function renderText(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const family of families) {
    lines.push(`# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${family.type}\n`);
    for (const { labelValues, value } of family.series) {
      const labels = family.labelNames
        .map((name, i) => `${name}="${escapeLabel(labelValues[i]!)}"`)
        .join(',');
      if (typeof value === 'number') lines.push(line(family.name, labels, value));
      else pushHistogram(lines, family.name, labels, value);
    }
  }
  return lines.join('');
}

function pushHistogram(lines: string[], name: string, labels: string, histogram: HistogramValue): void {
  const prefix = labels === '' ? '' : `${labels},`;
  let total = 0;
  for (let i = 0; i < histogram.counts.length; i++) {
    total += histogram.counts[i]!;
    const bound = formatFloat(histogram.bounds[i] ?? Number.POSITIVE_INFINITY);
    lines.push(line(`${name}_bucket`, `${prefix}le="${bound}"`, total));
  }
  lines.push(line(`${name}_sum`, labels, histogram.sum), line(`${name}_count`, labels, total));
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${formatFloat(value)}\n`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return /[\\\n"]/.test(text) ? escapeHelp(text).replaceAll('"', '\\"') : text;
}
