const redacted = '[redacted]';

/** Keys whose values are credentials. Paths to credentials (`tokenFile`) and counts are not. */
const secretKey =
  /^(?:.*[-_.]?)?(?:authorization|password|passwd|bearer|cookie|credential|secret|token|(?:api|private|client|secret)[-_]?key(?:[-_]?data)?)s?$/i;
/** Names that hold one of those words but no credential. */
const harmlessKey = /(?:file|path|dir|name|count|age|expiry|expires|seconds)$/i;

/** Whether the value under this key must not be printed. */
export function isSecretKey(key: string): boolean {
  return secretKey.test(key) && !harmlessKey.test(key);
}

/**
 * Takes credentials out of a text: HTTP authorization values, JSON web tokens, passwords in URLs, token and password
 * parameters. Everything else stays as it is.
 */
export function redactText(text: string): string {
  if (!/bearer|basic|eyJ|:\/\/|token|passw|secret|authorization/i.test(text)) return text;
  return text
    .replace(/\b(bearer|basic)\s+(?!tokens?\b|auth|credential)[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${redacted}`)
    .replace(/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?/g, redacted)
    .replace(/(:\/\/[^\s:/@"']*):[^\s@/"']+@/g, `$1:${redacted}@`)
    .replace(
      /((?:^|[?&\s,;{(]|")(?:access_|id_|refresh_)?(?:token|password|passwd|client_secret|secret)"?\s*[=:]\s*"?)(?!\[redacted\])[^\s&"',;)}]+/gi,
      `$1${redacted}`,
    );
}
