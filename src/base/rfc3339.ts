const PATTERN = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 time as Kubernetes writes it, with any number of fractional digits.
 * Returns milliseconds since the epoch, fractions kept as far as a double holds them (better than a microsecond),
 * or `undefined` when the text is no such time.
 */
export function parseRfc3339(text: string): number | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const part = (index: number) => Number(match[index] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || part(9) > 24 || part(10) > 59) return undefined;
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, 0);
  const offset = (match[8] === '-' ? -1 : 1) * (part(9) * 60 + part(10)) * 60_000;
  const fraction = match[7] === undefined ? 0 : Number(`0.${match[7]}`) * 1000;
  return local.getTime() - offset + fraction;
}

/**
 * RFC 3339 in the local time zone: `Z` when that is UTC, else the offset; as many fractional digits as are needed,
 * none for a whole second. Precision is the millisecond.
 */
export function formatRfc3339(milliseconds: number): string {
  const time = new Date(milliseconds);
  const offset = -time.getTimezoneOffset();
  const text = new Date(time.getTime() + offset * 60_000).toISOString();
  const [whole, fraction = ''] = text.slice(0, -1).split('.');
  const digits = fraction.replace(/0+$/, '');
  return `${whole}${digits === '' ? '' : `.${digits}`}${formatOffset(offset)}`;
}

function formatOffset(minutes: number): string {
  if (minutes === 0) return 'Z';
  const digits = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${digits(Math.floor(size / 60))}:${digits(size % 60)}`;
}

function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
}
