import type { StructuredPage } from './structured-page.ts';

const COMPONENT = 'kube-proxy';
const SEPARATORS = [':', ': ', '=', ' '] as const;

const WARNING =
  'Warning: this page is meant for people; its form may change at any time, so do not write programs against it.';

/** Picks the text between name and value: it changes on purpose, so that nobody parses the page. */
export function pickSeparator(random: () => number): string {
  return SEPARATORS[Math.min(SEPARATORS.length - 1, Math.floor(random() * SEPARATORS.length))]!;
}

/** `/flagz`: the flags as given on the command line (operations 4.3). */
export function flagzPage(flags: ReadonlyMap<string, string>, separator: string): StructuredPage {
  const sorted = [...flags].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.map(([name, value]) => `${name}${separator}${value}\n`).join('');
  return {
    kind: 'Flagz',
    text: `${heading('flagz')}${lines}`,
    object: { metadata: { name: COMPONENT }, flags: Object.fromEntries(sorted) },
  };
}

export interface Statusz {
  /** Unix time in seconds. */
  readonly startTime: number;
  readonly uptimeSeconds: number;
  /** Version of the run-time: Go's place is taken by Node. */
  readonly goVersion: string;
  /** Without the `v`. */
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

/** `/statusz` (operations 4.3). */
export function statuszPage(status: Statusz, separator: string): StructuredPage {
  const started = new Date(status.startTime * 1000);
  const rows = [
    ['Started', unixDate(started)],
    ['Up', uptime(status.uptimeSeconds)],
    ['Go version', status.goVersion],
    ['Binary version', status.binaryVersion],
    ['Emulation version', status.emulationVersion],
    ['Paths', status.paths.join(' ')],
  ];
  return {
    kind: 'Statusz',
    text: `${heading('statusz')}${rows.map(([name, value]) => `${name}${separator}${value}\n`).join('')}`,
    object: {
      metadata: { name: COMPONENT },
      startTime: started.toISOString().replace(/\.\d+Z$/, 'Z'),
      uptimeSeconds: Math.floor(status.uptimeSeconds),
      goVersion: status.goVersion,
      binaryVersion: status.binaryVersion,
      emulationVersion: status.emulationVersion,
      paths: status.paths,
    },
  };
}

function heading(page: string): string {
  return `\n${COMPONENT} ${page}\n${WARNING}\n\n`;
}

/** `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(time: Date): string {
  const [weekday, day, month, year, clock] = time.toUTCString().replace(',', '').split(' ');
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${clock} UTC ${year}`;
}

/** `H hr MM min SS sec`. */
function uptime(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two((seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}
