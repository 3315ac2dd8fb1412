const nanosecondsPerUnit: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const largest = 2n ** 63n - 1n;

/**
 * Reads a duration in Go's syntax (`1h30m`, `1.5s`, `-1s`, a bare `0`; operations 1.1).
 * Returns milliseconds with fractions, or `undefined` when the text is no duration or exceeds Go's 292 years.
 */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return 0;
  if (rest === '') return undefined;
  let total = 0n;
  while (rest !== '') {
    const part = /^([0-9]*)(?:\.([0-9]*))?([^0-9.]+)/.exec(rest);
    if (part === null) return undefined;
    const whole = part[1] ?? '';
    const fraction = part[2] ?? '';
    const unit = nanosecondsPerUnit[part[3] ?? ''];
    if (unit === undefined || (whole === '' && fraction === '')) return undefined;
    total += BigInt(whole === '' ? '0' : whole) * unit;
    if (fraction !== '') total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    if (total > largest) return undefined;
    rest = rest.slice(part[0].length);
  }
  return (sign * Number(total)) / 1e6;
}

/** Prints milliseconds as Go does: `15m0s`, `1h0m0s`, `1.5s`, `500ms`, `0s`. Precise to the nanosecond up to 26 days. */
export function formatGoDuration(milliseconds: number): string {
  const total = BigInt(Math.round(milliseconds * 1e6));
  if (total === 0n) return '0s';
  const sign = total < 0n ? '-' : '';
  const size = total < 0n ? -total : total;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}µs`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, digits: number): string {
  const scale = 10n ** BigInt(digits);
  const fraction = (value % scale).toString().padStart(digits, '0').replace(/0+$/, '');
  return fraction === '' ? `${value / scale}` : `${value / scale}.${fraction}`;
}
