/**
 * A number as Go's `strconv.FormatFloat(value, 'g', -1, 64)` prints it: the shortest digits that read back as the same
 * number, with an exponent below 1e-4 and from 1e+06 on (Go picks the point by a precision of 6 there, whatever the
 * number of digits: 1234567 is `1.234567e+06`). The `le` label of a bucket has to match to the letter.
 */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const magnitude = Math.abs(value);
  if (value === 0 || (magnitude >= 1e-4 && magnitude < 1e6)) return String(value);
  const [digits, exponent] = value.toExponential().split('e');
  const sign = exponent!.startsWith('-') ? '-' : '+';
  return `${digits}e${sign}${exponent!.slice(1).padStart(2, '0')}`;
}
