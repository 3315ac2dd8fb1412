/**
 * Whether one resource version is older than another. Both are decimal numbers on every conformant server (KEP-5504);
 * anything else is never older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  if (!isNumber(version) || !isNumber(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

function isNumber(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
