import type { CheckResult } from './run-check.ts';

/** Colours text, or leaves it as it is where nobody can see colours. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly quiet: (text: string) => string;
  readonly strong: (text: string) => string;
}

/** Escape sequences with `coloured`, else plain text. */
export function paint(coloured: boolean): Paint {
  const with_ = (code: string) => (text: string) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { good: with_('32'), bad: with_('31;1'), quiet: with_('2'), strong: with_('1') };
}

const COLUMNS = ['from', 'service', 'address', 'answered by', 'pods saw', 'expected'] as const;
/** Room for three pods, so that the tables before and after scaling have the same shape. */
const LEAST_WIDTHS = [0, 0, 0, 'web-1 10  web-2 10  web-3 10'.length, 0, 0] as const;
type Row = readonly [string, string, string, string, string, string];

/** Widths that hold all results, so that tables printed one after another line up. */
export function columnWidths(rows: readonly Row[]): number[] {
  return COLUMNS.map((title, column) =>
    Math.max(title.length, LEAST_WIDTHS[column] ?? 0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
}

/** The cells of one line, without colours. */
export function cells({ check, answers, failures, seen }: CheckResult): Row {
  const answered = [...answers].map(([pod, requests]) => `${pod} ${requests}`);
  const failed = [...failures.keys()].map((word) => (word === 'timeout' ? 'no answer' : word));
  return [
    check.from,
    check.service,
    check.proto === undefined ? check.to : `${check.to}/${check.proto}`,
    [...answered, ...failed].join('  '),
    seen.join(', '),
    check.expect.why,
  ];
}

/** A heading and a line for each result: aligned, with a mark that says whether it came as expected. */
export function renderTable(
  title: string,
  results: readonly CheckResult[],
  widths: readonly number[],
  colours: Paint,
): string {
  const line = (row: readonly string[]): string[] =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const lines = results.map((result) => {
    const padded = line(cells(result));
    const last = padded.pop() ?? '';
    const mark = result.passed ? colours.good('✓') : colours.bad('✗');
    return `  ${padded.join('  ')}  ${mark} ${colours.quiet(last.trimEnd())}`;
  });
  return [
    `\n${colours.strong(title)}`,
    colours.quiet(`  ${line(COLUMNS).join('  ').trimEnd()}`),
    ...lines,
  ].join('\n');
}
